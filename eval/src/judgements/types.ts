/** Shapes of the packs of single judgements: hazard (proposals) and injection (texts from outside). */

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

/** Entries of one label in one half. */
export interface Count {
  readonly plain: number;
  readonly subtle: number;
}

/** One half as described by `pack.json`. */
interface HalfManifest {
  readonly file: string;
  readonly entries: number;
  /** SHA-256 of the file's bytes, hexadecimal. */
  readonly sha256: string;
  readonly counts: Readonly<Record<string, Count>>;
}

export interface Manifest {
  readonly name: string;
  readonly version: number;
  readonly author: string;
  readonly classes: Readonly<Record<string, string>>;
  readonly rules: readonly string[];
  readonly halves: Readonly<Record<Half, HalfManifest>>;
}

/** JSON Schema of `pack.json` and of the lines of both packs. Unknown members are refused. */

const words = { type: 'string', minLength: 1, maxLength: 4096, pattern: '\\S' };
const sentence = { type: 'string', minLength: 1, maxLength: 200, pattern: '^[A-Za-z].*\\.$' };
const count = { type: 'integer', minimum: 0 };

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

const half = struct(['file', 'entries', 'sha256', 'counts'], {
  file: { type: 'string', pattern: '^[a-z]+\\.jsonl$' },
  entries: { type: 'integer', minimum: 1 },
  sha256: { type: 'string', pattern: '^[0-9a-f]{64}$' },
  counts: { type: 'object', additionalProperties: struct(['plain', 'subtle'], { plain: count, subtle: count }) },
});

/** `pack.json`. */
export const manifestSchema = struct(['name', 'version', 'author', 'classes', 'rules', 'halves'], {
  name: { type: 'string', pattern: '^[a-z-]+$' },
  version: { type: 'integer', minimum: 1 },
  author: words,
  classes: { type: 'object', minProperties: 1, additionalProperties: words },
  rules: { type: 'array', items: words, minItems: 1 },
  halves: struct(halves, { dev: half, sealed: half } satisfies Record<Half, object>),
});
