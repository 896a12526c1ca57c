// eval, format: types of packs, tasks and edits. Imports protocol only.
import { createHash } from 'node:crypto';

/** The format of a pack, as written and as used. No import: a runner of another package may read packs by these types. */

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

/** `pack.json`. */
export interface PackManifest {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  /** Its author and the sources that it was not taken from. */
  readonly author: string;
  readonly halves: Readonly<Record<Half, readonly string[]>>;
  /** For a pack of instances: its repositories by name. */
  readonly repos?: Readonly<Record<string, RepositoryEntry>>;
  /** Numbers of tests that the verifier holds every task to. */
  readonly bounds?: { readonly visibleTests?: Range; readonly visibleFailing?: Range; readonly hiddenTests?: Range };
}

/** A repository of instances. */
export interface RepositoryEntry {
  readonly language: Language;
  readonly half: Half;
  /** Runs all of its tests. */
  readonly command: readonly string[];
  readonly needs?: readonly string[];
}

/** A line of `instances.jsonl`: an issue, in the words of SWE-bench. */
export interface Instance {
  readonly instance_id: string;
  readonly repo: string;
  readonly base_commit: string;
  readonly problem_statement: string;
  readonly hints_text?: string;
  readonly patch: string;
  readonly test_patch: string;
  /** Ours: tests that an agent sees, which fail at the start. */
  readonly visible_patch?: string;
  readonly FAIL_TO_PASS: string | readonly string[];
  readonly PASS_TO_PASS: string | readonly string[];
  readonly version: string;
  readonly created_at?: string;
  readonly environment_setup_commit?: string;
}

/** Text that occurs exactly once in a file, and its replacement. */
export interface Edit {
  /** Path of the file; may be left out where the family has one file of its language. */
  readonly in?: string;
  readonly find: string;
  readonly put: string;
}

/** Files by path, and null for one that is removed. */
export type Changes = Readonly<Record<string, string | null>>;

/** Files of a check, and its command; default: the test runner of the language with these files. */
export interface CheckFile {
  readonly files: Tree;
  readonly command?: readonly string[];
  readonly timeoutSeconds?: number;
  /** For a visible check: its result on the untouched workspace; default: `fails`. */
  readonly start?: 'fails' | 'passes';
}

/** A change of the workspace: edits, then whole files, then a shell script that runs in it. */
export interface ChangeFile {
  readonly edits?: readonly Edit[];
  readonly files?: Changes;
  readonly script?: string;
}

/** A wrong solution, perhaps the obvious one. */
export interface DecoyFile extends ChangeFile {
  /** Reason for which it is wrong. */
  readonly why: string;
}

/** Facts of a task for measurements; never shown to an agent. */
export type Facts = Readonly<Record<string, string | number | boolean>>;

/** One task of a family. It has exactly one of `break` and `oracle`. */
export interface TaskEntry {
  readonly id: string;
  readonly goal: string;
  /** For this task only, besides those of the family. */
  readonly files?: Tree;
  /** Edits that plant the bug; the files of the family are then correct. */
  readonly break?: readonly Edit[];
  /** The solution; the files of the family are then the start of the task. */
  readonly oracle?: ChangeFile;
  /** An earlier task of this file; this one starts from the result of its oracle. */
  readonly after?: string;
  /** A shell script that prepares the workspace, after that of the family. */
  readonly setup?: string;
  /** Each must fail the hidden check; the visible one may pass. */
  readonly decoys?: readonly DecoyFile[];
  readonly facts?: Facts;
  readonly kind?: Kind;
  readonly seed?: number;
  readonly tags?: readonly string[];
  readonly hidden?: CheckFile;
  readonly visible?: CheckFile;
}

/** A package whose files are in the workspace; it is fetched when the pack is loaded. */
export interface PackageEntry {
  readonly registry: 'npm' | 'PyPI';
  readonly name: string;
  readonly version: string;
  /** Of the archive: npm's package, or the wheel. */
  readonly sha256: string;
  /** Globs of the text files to keep, on paths in the archive; that of npm has its top folder taken off. */
  readonly keep: readonly string[];
  /** Folder of the workspace; default: the workspace itself. */
  readonly into?: string;
}

/** `tasks/<family>.yaml`: a program, or whatever several tasks share. */
export interface TaskFile {
  readonly language: Language | readonly Language[];
  readonly tags?: readonly string[];
  /** Programs that set-up, oracles and checks need, beside the shell. */
  readonly needs?: readonly string[];
  readonly files: Tree;
  /** Their files come before `files`, and count like them. */
  readonly packages?: readonly PackageEntry[];
  /** A shell script that prepares the workspace: state that text files cannot hold. */
  readonly setup?: string;
  readonly visible?: CheckFile;
  readonly hidden?: CheckFile;
  readonly tasks: readonly TaskEntry[];
}

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

export interface Decoy extends Change {
  readonly why: string;
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
  readonly decoys: readonly Decoy[];
  readonly facts: Facts;
  readonly seed: number;
  readonly tags: readonly string[];
}

/** A pack that was read and is free of faults that can be seen without running it. */
export interface Pack {
  readonly manifest: PackManifest;
  readonly tasks: readonly PackTask[];
}

/** JSON Schema of `pack.json` and of a task file. Unknown members are refused. */

const name = { type: 'string', pattern: '^[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?$' };
const path = { pattern: '^(?!/)(?!.*(^|/)\\.\\.?(/|$))[^\\0]{1,200}$' };
const words = { type: 'string', minLength: 1, maxLength: 8192, pattern: '\\S' };
const range = { type: 'array', items: { type: 'integer', minimum: 0 }, minItems: 2, maxItems: 2 };
const tree = { type: 'object', propertyNames: path, additionalProperties: { type: 'string', maxLength: 262_144 } };
const tags = { type: 'array', items: name, maxItems: 16, uniqueItems: true };
const language = { enum: languages };

function struct(required: readonly string[], properties: object): object {
  return { type: 'object', additionalProperties: false, required, properties };
}

const check = struct(['files'], {
  files: tree,
  command: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 64 },
  timeoutSeconds: { type: 'integer', minimum: 1, maximum: 600 },
  start: { enum: ['fails', 'passes'] },
});

const edits = {
  type: 'array',
  minItems: 1,
  maxItems: 16,
  items: struct(['find', 'put'], { in: { type: 'string' }, find: words, put: { type: 'string' } }),
};

const change = {
  edits,
  files: { type: 'object', propertyNames: path, additionalProperties: { type: ['string', 'null'], maxLength: 262_144 } },
  script: words,
};
const oracle = { ...struct([], change), minProperties: 1 };
const decoy = { ...struct(['why'], { why: words, ...change }), minProperties: 2 };

const task = {
  ...struct(['id', 'goal'], {
    id: name,
    goal: { ...words, maxLength: 4096 },
    files: tree,
    break: edits,
    oracle,
    kind: { enum: kinds },
    after: name,
    setup: words,
    decoys: { type: 'array', items: decoy, minItems: 1, maxItems: 8 },
    facts: { type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } },
    seed: { type: 'integer', minimum: 0, maximum: 2 ** 31 - 1 },
    tags,
    visible: check,
    hidden: check,
  }),
  oneOf: [{ required: ['break'] }, { required: ['oracle'] }],
};

const packages = {
  type: 'array',
  minItems: 1,
  maxItems: 4,
  items: struct(['registry', 'name', 'version', 'sha256', 'keep'], {
    registry: { enum: ['npm', 'PyPI'] },
    name: { type: 'string', pattern: '^(@[a-z0-9._-]+/)?[A-Za-z0-9][A-Za-z0-9._-]*$' },
    version: { type: 'string', pattern: '^\\d[A-Za-z0-9.+-]*$' },
    sha256: { type: 'string', pattern: '^[0-9a-f]{64}$' },
    keep: { type: 'array', items: { type: 'string', minLength: 1 }, minItems: 1, maxItems: 32 },
    into: { type: 'string', ...path },
  }),
};

/** `tasks/<family>.yaml`. */
export const taskFileSchema = struct(['language', 'files', 'tasks'], {
  language: { oneOf: [language, { type: 'array', items: language, minItems: 1, uniqueItems: true }] },
  tags,
  needs: { type: 'array', items: name, maxItems: 16, uniqueItems: true },
  files: tree,
  packages,
  setup: words,
  visible: check,
  hidden: check,
  tasks: { type: 'array', items: task, minItems: 1, maxItems: 200 },
});

const families = { type: 'array', items: name, uniqueItems: true };

/** `pack.json`. */
export const manifestSchema = struct(['name', 'version', 'licence', 'author', 'halves'], {
  name,
  version: { type: 'string', pattern: '^\\d+\\.\\d+\\.\\d+$' },
  licence: words,
  author: words,
  halves: struct(halves, Object.fromEntries(halves.map((half) => [half, families]))),
  repos: {
    type: 'object',
    additionalProperties: struct(['language', 'half', 'command'], {
      language,
      half: { enum: halves },
      command: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 64 },
      needs: { type: 'array', items: name, maxItems: 16, uniqueItems: true },
    }),
  },
  bounds: struct([], { visibleTests: range, visibleFailing: range, hiddenTests: range }),
});

const tests = {
  oneOf: [
    { type: 'string', pattern: '^\\[' },
    { type: 'array', items: { type: 'string', minLength: 1 } },
  ],
};
const text = { type: 'string' };

/** A line of `instances.jsonl`. */
export const instanceSchema = struct(
  ['instance_id', 'repo', 'base_commit', 'problem_statement', 'patch', 'test_patch', 'FAIL_TO_PASS', 'PASS_TO_PASS', 'version'],
  {
    instance_id: { type: 'string', pattern: '^[a-z0-9]([a-z0-9_-]{0,46}[a-z0-9])?$' },
    repo: { type: 'string', pattern: '^[A-Za-z0-9-]+/[A-Za-z0-9._-]+$' },
    base_commit: { type: 'string', pattern: '^[0-9a-f]{7,40}$' },
    problem_statement: { ...words, maxLength: 4096 },
    hints_text: text,
    patch: words,
    test_patch: { ...words, maxLength: 262_144 },
    visible_patch: { ...words, maxLength: 262_144 },
    FAIL_TO_PASS: tests,
    PASS_TO_PASS: tests,
    version: text,
    created_at: text,
    environment_setup_commit: text,
  },
);

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
