// eval, format: types of packs, tasks and edits. Imports protocol only.
/** The format of a pack, as written and as used. */
import { createHash } from 'node:crypto';
import { Type, type Static, type TString } from 'typebox';

export const languages = ['python', 'javascript', 'typescript', 'shell', 'text'] as const;
export type Language = (typeof languages)[number];

/** `single`, `multi-edit` and `multi-file` follow from the edits of a repair; a task that is no repair names its kind. */
export const kinds = ['single', 'multi-edit', 'multi-file', 'write', 'operate'] as const;
export type Kind = (typeof kinds)[number];

/** `dev` is for tuning, `held-out` for reporting. A family is in only one of them. */
export const halves = ['dev', 'held-out'] as const;
export type Half = (typeof halves)[number];

/** Files by path below the workspace. */
export type Tree = Readonly<Record<string, string>>;

/** Lowest and highest number, both allowed. */
export type Range = readonly [number, number];

/** Files by path, and null for one that is removed. */
export type Changes = Readonly<Record<string, string | null>>;

/** Facts of a task for measurements; never shown to an agent. */
export type Facts = Readonly<Record<string, string | number | boolean>>;

/** Data that was read: nothing of it changes. */
export type Read<T> = T extends object ? { readonly [K in keyof T]: Read<T[K]> } : T;

// The schemas of what is read. Unknown members are refused.

const exactly = { additionalProperties: false } as const;
const name = Type.String({ pattern: '^[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?$' });
const path = { pattern: '^(?!/)(?!.*(^|/)\\.\\.?(/|$))[^\\0]{1,200}$' };
const words = (maxLength: number): TString => Type.String({ minLength: 1, maxLength, pattern: '\\S' });
const range = Type.Unsafe<Range>({ type: 'array', items: { type: 'integer', minimum: 0 }, minItems: 2, maxItems: 2 });
const content = { maxLength: 262_144 };
const tree = Type.Unsafe<Tree>({ type: 'object', propertyNames: path, additionalProperties: { type: 'string', ...content } });
const tags = Type.Array(name, { maxItems: 16, uniqueItems: true });
const language = Type.Enum([...languages]);
const half = Type.Enum([...halves]);
const command = Type.Array(Type.String(), { minItems: 1, maxItems: 64 });

/** A repository of instances. */
const Repository = Type.Object(
  {
    language,
    half,
    /** Runs all of its tests. */
    command,
    needs: Type.Optional(tags),
  },
  exactly,
);
export type RepositoryEntry = Read<Static<typeof Repository>>;

const families = Type.Array(name, { uniqueItems: true });

/** `pack.json`. */
export const PackManifest = Type.Object(
  {
    name,
    version: Type.String({ pattern: '^\\d+\\.\\d+\\.\\d+$' }),
    licence: words(8192),
    /** Its author and the sources that it was not taken from. */
    author: words(8192),
    halves: Type.Object({ dev: families, 'held-out': families }, exactly),
    /** For a pack of instances: its repositories by name. */
    repos: Type.Optional(Type.Unsafe<Readonly<Record<string, RepositoryEntry>>>({ type: 'object', additionalProperties: Repository })),
    /** Numbers of tests that the verifier holds every task to. */
    bounds: Type.Optional(
      Type.Object({ visibleTests: Type.Optional(range), visibleFailing: Type.Optional(range), hiddenTests: Type.Optional(range) }, exactly),
    ),
  },
  exactly,
);
export type PackManifest = Read<Static<typeof PackManifest>>;

const text = Type.String();
const tests = Type.Unsafe<string | readonly string[]>({
  oneOf: [
    { type: 'string', pattern: '^\\[' },
    { type: 'array', items: { type: 'string', minLength: 1 } },
  ],
});

/** A line of `instances.jsonl`: an issue, in the words of SWE-bench. */
export const Instance = Type.Object(
  {
    instance_id: Type.String({ pattern: '^[a-z0-9]([a-z0-9_-]{0,46}[a-z0-9])?$' }),
    repo: Type.String({ pattern: '^[A-Za-z0-9-]+/[A-Za-z0-9._-]+$' }),
    base_commit: Type.String({ pattern: '^[0-9a-f]{7,40}$' }),
    problem_statement: words(4096),
    hints_text: Type.Optional(text),
    patch: words(8192),
    test_patch: words(content.maxLength),
    /** Ours: tests that an agent sees, which fail at the start. */
    visible_patch: Type.Optional(words(content.maxLength)),
    FAIL_TO_PASS: tests,
    PASS_TO_PASS: tests,
    version: text,
    created_at: Type.Optional(text),
    environment_setup_commit: Type.Optional(text),
  },
  exactly,
);
export type Instance = Read<Static<typeof Instance>>;

/** Text that occurs exactly once in a file, and its replacement. */
const Edit = Type.Object(
  {
    /** Path of the file; may be left out where the family has one file of its language. */
    in: Type.Optional(text),
    find: words(8192),
    put: text,
  },
  exactly,
);
export type Edit = Read<Static<typeof Edit>>;

/** Files of a check, and its command; default: the test runner of the language with these files. */
const Check = Type.Object(
  {
    files: tree,
    command: Type.Optional(command),
    timeoutSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 600 })),
    /** For a visible check: its result on the untouched workspace; default: `fails`. */
    start: Type.Optional(Type.Enum(['fails', 'passes'])),
  },
  exactly,
);
export type CheckFile = Read<Static<typeof Check>>;

const edits = Type.Array(Edit, { minItems: 1, maxItems: 16 });

/** A change of the workspace: edits, then whole files, then a shell script that runs in it. */
const change = {
  edits: Type.Optional(edits),
  files: Type.Optional(
    Type.Unsafe<Changes>({ type: 'object', propertyNames: path, additionalProperties: { type: ['string', 'null'], ...content } }),
  ),
  script: Type.Optional(words(8192)),
};
const Oracle = Type.Object(change, { ...exactly, minProperties: 1 });
export type ChangeFile = Read<Static<typeof Oracle>>;

/** One task of a family. It has exactly one of `break` and `oracle`. */
const Entry = Type.Object(
  {
    id: name,
    goal: words(4096),
    /** For this task only, besides those of the family. */
    files: Type.Optional(tree),
    /** Edits that plant the bug; the files of the family are then correct. */
    break: Type.Optional(edits),
    /** The solution; the files of the family are then the start of the task. */
    oracle: Type.Optional(Oracle),
    /** An earlier task of this file; this one starts from the result of its oracle. */
    after: Type.Optional(name),
    /** A shell script that prepares the workspace, after that of the family. */
    setup: Type.Optional(words(8192)),
    /** Wrong solutions, perhaps the obvious ones, each with the reason. Each must fail the hidden check; the visible one may pass. */
    decoys: Type.Optional(
      Type.Array(Type.Object({ why: words(8192), ...change }, { ...exactly, minProperties: 2 }), { minItems: 1, maxItems: 8 }),
    ),
    facts: Type.Optional(Type.Unsafe<Facts>({ type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } })),
    kind: Type.Optional(Type.Enum([...kinds])),
    seed: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 })),
    tags: Type.Optional(tags),
    visible: Type.Optional(Check),
    hidden: Type.Optional(Check),
  },
  { ...exactly, oneOf: [{ required: ['break'] }, { required: ['oracle'] }] },
);
export type TaskEntry = Read<Static<typeof Entry>>;

/** A package whose files are in the workspace; it is fetched when the pack is loaded. */
const Package = Type.Object(
  {
    registry: Type.Enum(['npm', 'PyPI']),
    name: Type.String({ pattern: '^(@[a-z0-9._-]+/)?[A-Za-z0-9][A-Za-z0-9._-]*$' }),
    version: Type.String({ pattern: '^\\d[A-Za-z0-9.+-]*$' }),
    /** Of the archive: npm's package, or the wheel. */
    sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    /** Globs of the text files to keep, on paths in the archive; that of npm has its top folder taken off. */
    keep: Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: 32 }),
    /** Folder of the workspace; default: the workspace itself. */
    into: Type.Optional(Type.String(path)),
  },
  exactly,
);
export type PackageEntry = Read<Static<typeof Package>>;

/** `tasks/<family>.yaml`: a program, or whatever several tasks share. */
export const TaskFile = Type.Object(
  {
    language: Type.Unsafe<Language | readonly Language[]>({
      oneOf: [language, { type: 'array', items: language, minItems: 1, uniqueItems: true }],
    }),
    tags: Type.Optional(tags),
    /** Programs that set-up, oracles and checks need, beside the shell. */
    needs: Type.Optional(tags),
    files: tree,
    /** Their files come before `files`, and count like them. */
    packages: Type.Optional(Type.Array(Package, { minItems: 1, maxItems: 4 })),
    /** A shell script that prepares the workspace: state that text files cannot hold. */
    setup: Type.Optional(words(8192)),
    visible: Type.Optional(Check),
    hidden: Type.Optional(Check),
    tasks: Type.Array(Entry, { minItems: 1, maxItems: 200 }),
  },
  exactly,
);
export type TaskFile = Read<Static<typeof TaskFile>>;

/** A check that is ready to run: its files are laid out over the workspace before the command. */
export interface PackCheck {
  readonly command: readonly string[];
  readonly timeoutSeconds: number;
  readonly files: Tree;
  readonly start: 'fails' | 'passes';
  /** Ids of tests that decide it instead of the exit status: all must pass; at the start the failing ones do not. */
  readonly tests?: { readonly failing: readonly string[]; readonly passing: readonly string[] };
}

/** A change of the prepared workspace: files, then a shell script (`sh -eu`) that runs in it. */
export interface Change {
  readonly files: Changes;
  readonly script?: string;
}

/** A task that is ready to run. */
export interface PackTask {
  /** `<pack>/<family>/<task>`. */
  readonly id: string;
  readonly pack: string;
  readonly family: string;
  readonly half: Half;
  readonly languages: readonly Language[];
  readonly kind: Kind;
  readonly goal: string;
  readonly needs: readonly string[];
  /** The workspace at the start, with files of the visible check; set-up comes after it. */
  readonly files: Tree;
  /** Shell scripts (`sh -eu`) that prepare the workspace, in this order, before any work in it. */
  readonly setup: readonly string[];
  readonly visible: PackCheck;
  /** Judged at the end only; an agent never sees it. */
  readonly hidden: PackCheck;
  /** The solution. */
  readonly oracle: Change;
  /** For a task with several planted edits: solutions of all but one. None may pass. */
  readonly partial: readonly Change[];
  /** Wrong solutions. None may pass the hidden check. */
  readonly decoys: readonly (Change & { readonly why: string })[];
  readonly facts: Facts;
  readonly seed: number;
  readonly tags: readonly string[];
}

/** A pack that was read and is free of faults that can be seen without running it. */
export interface Pack {
  readonly manifest: PackManifest;
  readonly tasks: readonly PackTask[];
}

/** An object of a cluster is named by the id of a task; the rest of 63 is for a suffix. */
export const maxIdCharacters = 56;

/** Returns the same seed for the same id, wherever and whenever it is read. */
export function seedOf(id: string): number {
  return createHash('sha256').update(id).digest().readUInt32BE(0) % 2 ** 31;
}

/** A pack that is refused; the message names file, task, fault and cure. */
export class PackError extends Error {
  override name = 'PackError';
}
