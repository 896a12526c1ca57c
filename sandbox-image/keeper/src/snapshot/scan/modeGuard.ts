import fs from 'node:fs';
import { chmodAt, openAt } from '../base/atPath.ts';
import { errnoOf } from '../base/errors.ts';
import { readStored } from '../objects/stored.ts';
import { type BytePath, sysPath } from '../base/pathBytes.ts';

/** Read and search permission for the owner of a folder. */
export const LISTABLE = 0o500;

/**
 * Opens files and directories of ours that their mode closes to us (0000 and the like) and closes them again. Every
 * such change is first recorded in a journal in the store, so that a killed keeper restores the modes when it opens the
 * store again: reading must not change the tree.
 */
export class ModeGuard {
  readonly #journal: string;
  #open = 0;

  constructor(journal: string) {
    this.#journal = journal;
  }

  /** Adds `bits` to the mode of `abs`; false when we may not change it. Call {@link shut} for every true. */
  widen(abs: BytePath, mode: number, bits: number): boolean {
    fs.appendFileSync(this.#journal, `${JSON.stringify([abs, mode, mode | bits])}\n`, { mode: 0o600 });
    this.#open++;
    try {
      const there = chmodAt(abs, mode | bits);
      if (!there) this.#done();
      return there;
    } catch (error) {
      this.#done();
      if (errnoOf(error) === 'EPERM') return false;
      throw error;
    }
  }

  /** A path moved meanwhile keeps its mode: only the path is known. */
  shut(abs: BytePath, mode: number): void {
    chmodAt(abs, mode);
    this.#done();
  }

  /** Puts back the modes that a killed keeper left open, unless someone has changed them since. */
  recover(): void {
    // A torn last line was written for a change that was not made.
    for (const line of (readStored(this.#journal) ?? '').split('\n').slice(0, -1).reverse()) {
      const [abs, mode, widened] = JSON.parse(line) as [BytePath, number, number];
      try {
        const now = fs.lstatSync(sysPath(abs));
        if (!now.isSymbolicLink() && (now.mode & 0o7777) === widened) chmodAt(abs, mode);
      } catch (error) {
        if (!['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM'].includes(errnoOf(error))) throw error;
      }
    }
    fs.rmSync(this.#journal, { force: true });
  }

  #done(): void {
    this.#open--;
    if (this.#open === 0) fs.rmSync(this.#journal, { force: true });
  }
}

export const OWNER_READ = 0o400;

/** O_NONBLOCK: should a file have become a fifo, opening it must not wait for a writer. */
const OPEN_FLAGS = fs.constants.O_RDONLY | fs.constants.O_NONBLOCK;

/**
 * Opens a file for reading; null when we may not. A mode that forbids reading is widened for the moment of opening and
 * restored before this returns.
 */
export function openFile(abs: BytePath, mode: number, guard: ModeGuard, open = openAt): number | null {
  const closed = (mode & OWNER_READ) === 0;
  if (closed && !guard.widen(abs, mode, OWNER_READ)) return null;
  try {
    return open(abs, OPEN_FLAGS);
  } catch (error) {
    if (errnoOf(error) !== 'EACCES') throw error;
    return null;
  } finally {
    if (closed) guard.shut(abs, mode);
  }
}
