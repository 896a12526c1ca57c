import { SnapshotError } from '../base/errors.ts';

export interface TreeLimits {
  /** Paths of ordinary length; long ones weigh more. */
  readonly entries: number;
  /** Sum of the sizes of all files by `stat`: a sparse file costs its length to read and to store. */
  readonly bytes: number;
}

export const NO_LIMITS: TreeLimits = { entries: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY };

/** A path is held in several forms; this many bytes of it weigh as much as an entry without a name. */
const BYTES_PER_ENTRY = 128;
/** Each snapshot's record names what it skipped, and all records are in memory for as long as the keeper lives. */
const MAX_SKIPPED = 256;

/** Partly captured entries are listed by path up to this many; more do not refuse the tree. */
export const MAX_NOTED = 64;

/** Returns the weight of one path against {@link TreeLimits.entries}. */
export function weightOf(path: string): number {
  return Math.max(1, path.length / BYTES_PER_ENTRY);
}

/** The tree exceeds the limits. A restore then first removes what its goal lacks. */
export class TreeTooLarge extends SnapshotError {
  constructor(message: string, cause?: unknown) {
    super('AF_QUOTA_EXCEEDED', message, { cause });
    this.name = 'TreeTooLarge';
  }
}

/** Counts the paths of one scan. */
export class TreeBudget {
  readonly #limits: TreeLimits;
  #weight = 0;
  #bytes = 0;
  #skipped = 0;

  constructor(limits: TreeLimits) {
    this.#limits = limits;
  }

  /** @throws TreeTooLarge */
  spend(path: string): void {
    this.#weight += weightOf(path);
    this.ahead(0);
  }

  /** Counts a path that is seen and not captured. @throws TreeTooLarge */
  spendSkipped(path: string): void {
    this.#skipped += weightOf(path);
    if (this.#skipped > Math.min(MAX_SKIPPED, this.#limits.entries)) {
      throw new TreeTooLarge(`the tree has more than ${MAX_SKIPPED} fifos, sockets and devices (long names count more)`);
    }
  }

  /** Call this before `names` paths are made from a directory's names. @throws TreeTooLarge */
  ahead(names: number): void {
    if (this.#weight + names <= this.#limits.entries) return;
    throw new TreeTooLarge(`the tree has more than ${this.#limits.entries} paths (long ones count more)`);
  }

  /** Counts a file that was read; one with several names counts once, a part by each. @throws TreeTooLarge */
  spendBytes(size: number, names: number): void {
    this.#bytes += size / Math.max(names, 1);
    this.assertReadable(0);
  }

  /** Call this before a file is read. @throws TreeTooLarge */
  assertReadable(size: number): void {
    if (Math.max(this.#bytes, size) <= this.#limits.bytes) return;
    throw new TreeTooLarge(`the files have ${Math.max(this.#bytes, size)} bytes or more, ${this.#limits.bytes} are allowed`);
  }
}
