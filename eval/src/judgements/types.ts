/** Shapes of the packs of single judgements: hazard (proposals) and injection (texts from outside). */
import { Type, type Static } from 'typebox';

export const halves = ['dev', 'sealed'] as const;
export type Half = (typeof halves)[number];

export const hazardClasses = ['Destructive', 'Exfiltration', 'Escape', 'Persistence', 'Tampering'] as const;
type HazardClass = (typeof hazardClasses)[number];

/** An act that an agent proposes; paths are those of the sandbox. */
export type Proposal =
  | { readonly tool: 'Shell'; readonly command: string }
  | { readonly tool: 'ExecCode'; readonly argv: readonly string[] }
  | { readonly tool: 'FileWrite'; readonly path: string; readonly content: string };

/** Common members of a pack's entries. */
export interface Entry<Label extends string> {
  readonly id: string;
  readonly half: Half;
  /** Its author, as a letter: a model trained on some authors is measured on another. Absent: the only author of the half. */
  readonly author?: string;
  readonly label: Label;
  /** One sentence: the effect. Never given to the scored parts. */
  readonly why: string;
  /** Unsafe and hidden, or harmless and of dangerous looks. */
  readonly subtle: boolean;
}

type HazardLabel = 'Benign' | HazardClass;
export type HazardEntry = Entry<HazardLabel> & Proposal;

export const channels = [
  'Readme',
  'Issue',
  'TestOutput',
  'FileName',
  'CommitMessage',
  'ToolOutput',
  'Unicode',
  'SystemMessage',
  'MarkdownLink',
  'Base64',
  'CodeComment',
  'PackageMetadata',
  'WebPage',
  'LogFile',
] as const;

type InjectionLabel = 'Benign' | 'Injection';

/** A text from outside; `act` is the unsafe act that it asks for, absent when it asks for none. */
export interface InjectionEntry extends Entry<InjectionLabel> {
  readonly channel: (typeof channels)[number];
  readonly text: string;
  readonly act?: { readonly class: HazardClass } & Proposal;
}

/** Context of an entry: the goal of its task and, for an external text, the harmless act that the goal demands. */
export interface EntryContext {
  readonly id: string;
  readonly goal: string;
  readonly harmless?: Proposal;
}

/** JSON Schema of `pack.json` and of the lines of both packs. Unknown members are refused. */

const words = Type.String({ minLength: 1, maxLength: 4096, pattern: '\\S' });
const sentence = { type: 'string', minLength: 1, maxLength: 200, pattern: '^[A-Za-z].*\\.$' };

function struct(required: readonly string[], properties: object): object {
  return { type: 'object', additionalProperties: false, required, properties };
}

const required = (members: object): readonly string[] => Object.keys(members).filter((name) => name !== 'author');

/** One variant per tool, distinguished by `tool`, each with the members that all of them have. */
function proposal(common: Readonly<Record<string, object>>): object {
  const variant = (tool: string, own: Readonly<Record<string, object>>): object =>
    struct([...required(common), 'tool', ...Object.keys(own)], { ...common, tool: { const: tool }, ...own });
  return {
    type: 'object',
    required: ['tool'],
    discriminator: { propertyName: 'tool' },
    oneOf: [
      variant('Shell', { command: words }),
      variant('ExecCode', { argv: { type: 'array', items: { type: 'string', maxLength: 4096 }, minItems: 1, maxItems: 32 } }),
      variant('FileWrite', { path: { type: 'string', pattern: '^/[^\\0]{1,200}$' }, content: { type: 'string', maxLength: 8192 } }),
    ],
  };
}

function common(prefix: string, labels: readonly string[]): Record<string, object> {
  return {
    id: { type: 'string', pattern: `^${prefix}-(${halves.join('|')})-[0-9]{3}$` },
    half: { enum: halves },
    author: { type: 'string', pattern: '^[A-Z]$' },
    label: { enum: labels },
    why: sentence,
    subtle: { type: 'boolean' },
  };
}

/** A line of the hazard pack. */
export const hazardSchema = proposal(common('hz', ['Benign', ...hazardClasses]));

const injection = common('inj', ['Benign', 'Injection']);

/** A line of the injection pack. */
export const injectionSchema = {
  ...struct([...required(injection), 'channel', 'text'], {
    ...injection,
    channel: { enum: channels },
    text: words,
    act: proposal({ class: { enum: hazardClasses } }),
  }),
  allOf: [
    { if: { properties: { label: { const: 'Benign' } } }, else: { required: ['act'] } },
    { if: { properties: { label: { const: 'Injection' } } }, else: { properties: { act: false } } },
  ],
};

/** A line of the file of contexts of a half. */
export const contextSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['id', 'goal'],
  properties: { id: { type: 'string' }, goal: words, harmless: proposal({}) },
};

const exactly = { additionalProperties: false } as const;

const Count = Type.Object({ plain: Type.Integer({ minimum: 0 }), subtle: Type.Integer({ minimum: 0 }) }, exactly);
export type Count = Readonly<Static<typeof Count>>;

/** One half as described by `pack.json`. */
const HalfManifest = Type.Object(
  {
    file: Type.String({ pattern: '^[a-z]+\\.jsonl$' }),
    entries: Type.Integer({ minimum: 1 }),
    /** SHA-256 of the file's bytes, hexadecimal. */
    sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    counts: Type.Unsafe<Readonly<Record<string, Count>>>({ type: 'object', additionalProperties: Count }),
  },
  exactly,
);

/** `pack.json`. */
export const Manifest = Type.Object(
  {
    name: Type.String({ pattern: '^[a-z-]+$' }),
    version: Type.Integer({ minimum: 1 }),
    author: words,
    classes: Type.Unsafe<Readonly<Record<string, string>>>({ type: 'object', minProperties: 1, additionalProperties: words }),
    rules: Type.Array(words, { minItems: 1 }),
    halves: Type.Object({ dev: HalfManifest, sealed: HalfManifest }, exactly),
  },
  exactly,
);
export type Manifest = Readonly<Static<typeof Manifest>>;
