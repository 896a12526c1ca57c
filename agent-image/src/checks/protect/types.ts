// agent-image, checks/protect: types of changes, protection and violations. May import protocol, kube and the keeper's client.

/** A check, reduced to what protection needs. */
export interface CheckCommand {
  readonly name: string;
  readonly command: readonly string[];
}

/** `Mode`: permissions only. `Type`: a file became a link or a directory, or the reverse. */
export type Operation = 'Add' | 'Modify' | 'Delete' | 'Mode' | 'Type';

export interface Change {
  /** Relative to the workspace, with `/`. */
  readonly path: string;
  readonly op: Operation;
  /** With contents, files that hold more than test settings, or tests beside code, are judged by what changed in them. */
  readonly before?: string;
  readonly after?: string;
}

/** Reads a file of snapshot 0; undefined when it is not there or not text. */
export type ReadFile = (path: string) => string | undefined;

/** Files that an attempt may not change, add or delete; computed once, at snapshot 0. */
export interface ProtectedSet {
  /** Returns the reason why this path is protected; null when it is not. */
  readonly why: (path: string) => Protection | null;
  /** Returns the reason why adding this path would take the place of something the checks use; null when it would not. */
  readonly shadows: (path: string) => string | null;
  /** A test module that may be added. */
  readonly addable: (path: string) => boolean;
  /** Reports whether a path of the workspace was not there at snapshot 0. */
  readonly isNew: (path: string) => boolean;
  /** One that the checks which prove the result run with. */
  readonly stays: (path: string) => boolean;
  /** Files made by running the checks or by a build, in folders that git leaves out: deleted before checks run, never a violation. */
  readonly derived: (path: string) => boolean;
  /** Of the derived ones those that no commit of the change would hold: they are not there where it is delivered to. Absent: it is not delivered. */
  readonly leftOut?: (path: string) => boolean;
  /**
   * Build folders of CMake and Meson that set-up made: all that changes in them is derived. Checks that prove a result need them as they
   * were at snapshot 0, not without what changed: set-up may have configured them as nothing else does.
   */
  readonly configured: readonly string[];
  /** Reports whether a build takes up a new source of C or C++ by a pattern where tests have their function main from a library. */
  readonly joinsTests: (path: string) => boolean;
  /** Reports whether tests may stand in this file of code: with contents of snapshot 0, they are judged by themselves. */
  readonly inline: (path: string) => boolean;
  /** Reports whether protected paths are below a path. */
  readonly holdsProtected: (path: string) => boolean;
  /**
   * Report files named by the checks' commands and the scripts they call: remove them before a run and pass them to
   * `parseResults` after it. A report from before proves nothing.
   */
  readonly reports: readonly string[];
  /** Tools that the checks call, by name: what `pyproject.toml` and the like say to them is protected too. */
  readonly tools: ReadonlySet<string>;
  /** Folders in which a build writes a folder of report files for each of its tasks; the same holds for these. */
  readonly reportFolders: readonly string[];
  /** The files of the tree that are protected, sorted. */
  readonly files: readonly string[];
}

export interface Protection {
  readonly why: string;
  /** `Settings`: only parts that affect tests are protected, where contents are known. */
  readonly kind: 'Test' | 'Settings' | 'Entry' | 'Dependency' | 'Listed';
}

export interface Violation {
  readonly path: string;
  readonly op: Operation;
  readonly code: 'Protected' | 'Shadow' | 'ReplacesParent' | 'OutsideWorkspace';
  readonly message: string;
  readonly cure: string;
}

export interface ChangeJudgement {
  readonly violations: readonly Violation[];
  /** Delete these before the checks run. */
  readonly discard: readonly string[];
  /** New test modules: part of the change, and deleted before the checks that prove it run. */
  readonly aside: readonly string[];
}
