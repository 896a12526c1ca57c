/** What a pack is, as it is written and as it is used. No import: a runner of another package may read packs by these words. */

export const languages = ['python', 'javascript', 'typescript', 'shell', 'text'] as const;
export type Language = (typeof languages)[number];

/** `single`, `multi-edit` and `multi-file` follow from the edits of a repair; a task that is no repair names its kind. */
export const kinds = ['single', 'multi-edit', 'multi-file', 'write', 'operate'] as const;
export type Kind = (typeof kinds)[number];

/** What we tune on is `dev`; what we report is `held-out`. A family lies in one of them only. */
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
  /** Who wrote it and what it was not taken from. */
  readonly author: string;
  readonly halves: Readonly<Record<Half, readonly string[]>>;
  /** Numbers of tests that the verifier holds every task to. */
  readonly bounds?: { readonly visibleTests?: Range; readonly visibleFailing?: Range; readonly hiddenTests?: Range };
}

/** Text that stands exactly once in a file, and what stands there instead. */
export interface Edit {
  /** Path of the file; may be left out where the family has one file of its language. */
  readonly in?: string;
  readonly find: string;
  readonly put: string;
}

/** Files of a check, and its command; default: the test runner of the language with these files. */
export interface CheckFile {
  readonly files: Tree;
  readonly command?: readonly string[];
  readonly timeoutSeconds?: number;
}

/** One task of a family. Exactly one of `break` and `oracle` is there. */
export interface TaskEntry {
  readonly id: string;
  readonly goal: string;
  /** Edits that plant the bug; the files of the family are then what is right. */
  readonly break?: readonly Edit[];
  /** What makes it right; the files of the family are then what the task starts from. A file with null is removed. */
  readonly oracle?: { readonly edits?: readonly Edit[]; readonly files?: Readonly<Record<string, string | null>> };
  readonly kind?: Kind;
  readonly seed?: number;
  readonly tags?: readonly string[];
  readonly hidden?: CheckFile;
  readonly visible?: CheckFile;
}

/** `tasks/<family>.yaml`: a program, or whatever several tasks share. */
export interface TaskFile {
  readonly language: Language | readonly Language[];
  readonly tags?: readonly string[];
  readonly files: Tree;
  readonly visible?: CheckFile;
  readonly hidden?: CheckFile;
  readonly tasks: readonly TaskEntry[];
}

/** A check that is ready to run: its files are laid out over the workspace before the command. */
export interface PackCheck {
  readonly command: readonly string[];
  readonly timeoutSeconds: number;
  readonly files: Tree;
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
  /** The workspace at the start, files of the visible check among them. */
  readonly files: Tree;
  readonly visible: PackCheck;
  /** Judged at the end only; an agent never sees it. */
  readonly hidden: PackCheck;
  /** The workspace when all is right. */
  readonly solution: Tree;
  /** Of a task with several planted edits: the solution with one of them left in. None may pass. */
  readonly partial: readonly Tree[];
  readonly seed: number;
  readonly tags: readonly string[];
}

/** A pack that was read and is free of faults that can be seen without running it. */
export interface Pack {
  readonly manifest: PackManifest;
  readonly tasks: readonly PackTask[];
}
