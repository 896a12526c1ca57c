import fs from 'node:fs';
import { O_PATH } from '../base/atPath.ts';
import { sysPath, type BytePath } from '../base/pathBytes.ts';

const FOLDER = O_PATH | fs.constants.O_DIRECTORY | fs.constants.O_NOFOLLOW;
/** Folders that are held open at once; between the first and the last of a deeper path are walked again. */
const MAX_OPEN = 64;

interface Step {
  readonly name: BytePath;
  /** -1: not held. */
  fd: number;
}

/**
 * Addresses paths below one root so that no link leads outside: each folder on the way is opened from the one above it
 * and must be a folder, and a system call gets the last name in the open folder. A folder that is swapped for a link at
 * any moment makes it fail (ENOTDIR). The last name is the call's own responsibility: it must not follow links.
 */
export class Reach {
  readonly #root: BytePath;
  readonly #steps: Step[] = [];
  #top = -1;

  constructor(root: BytePath) {
    this.#root = root;
  }

  /** Returns a path for a system call, valid until the next call. `path` is below the root, without it. */
  at(path: BytePath): string | Buffer {
    const cut = path.lastIndexOf('/');
    const fd = this.#open(cut < 0 ? [] : path.slice(0, cut).split('/'));
    return sysPath(`/proc/self/fd/${fd}/${path.slice(cut + 1)}`);
  }

  close(): void {
    this.#drop(0);
    if (this.#top !== -1) fs.closeSync(this.#top);
    this.#top = -1;
  }

  #open(names: readonly BytePath[]): number {
    if (this.#top === -1) this.#top = fs.openSync(sysPath(this.#root), FOLDER);
    let same = 0;
    while (same < names.length && this.#steps[same]?.name === names[same]) same += 1;
    this.#drop(same);
    for (const name of names.slice(this.#steps.length)) {
      const fd = fs.openSync(sysPath(`/proc/self/fd/${this.#last()}/${name}`), FOLDER);
      const before = this.#steps.at(-1);
      this.#steps.push({ name, fd });
      if (this.#steps.length > MAX_OPEN && before !== undefined) this.#let(before);
    }
    return this.#last();
  }

  #last(): number {
    return this.#steps.at(-1)?.fd ?? this.#top;
  }

  /** Forgets all steps from one on, and those before it that are not held. */
  #drop(from: number): void {
    while (this.#steps.length > from || this.#steps.at(-1)?.fd === -1) {
      const step = this.#steps.pop();
      if (step !== undefined) this.#let(step);
    }
  }

  #let(step: Step): void {
    if (step.fd !== -1) fs.closeSync(step.fd);
    step.fd = -1;
  }
}

/** Sets the mode of the file at the path, never of a link's target (EOPNOTSUPP). */
export function chmodNoFollow(path: string | Buffer, mode: number): void {
  const fd = fs.openSync(path, O_PATH | fs.constants.O_NOFOLLOW);
  try {
    fs.chmodSync(`/proc/self/fd/${fd}`, mode);
  } finally {
    fs.closeSync(fd);
  }
}
