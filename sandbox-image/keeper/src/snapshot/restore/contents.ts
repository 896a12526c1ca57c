import { type ModeGuard, openFile } from '../scan/index.ts';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { SnapshotError } from '../base/errors.ts';
import type { ManifestEntry } from '../base/manifest.ts';
import type { ObjectStore } from '../objects/objectStore.ts';
import { displayPath, sysPath, type BytePath } from '../base/pathBytes.ts';
import type { RootMap } from './staging.ts';

const OWNER_SEARCH = 0o100;
const PIECE_BYTES = 1024 * 1024;

/** Verified contents of files from the store or, where it lacks them (they were never captured), from the tree. */
export class Contents {
  readonly #store: ObjectStore;
  readonly #roots: RootMap;
  readonly #guard: ModeGuard;

  constructor(store: ObjectStore, roots: RootMap, guard: ModeGuard) {
    this.#store = store;
    this.#roots = roots;
    this.#guard = guard;
  }

  /** Pieces of at most 1 MiB. */
  chunks(entry: ManifestEntry): Generator<Buffer, void> {
    return this.#store.has(entry.hash) ? this.#store.chunks(entry.hash) : this.#fromTree(entry);
  }

  /** Opens a file of the tree, also below directories that are closed to us at the moment. */
  #open(entry: ManifestEntry): number | null {
    const opened: { path: BytePath; mode: number }[] = [];
    try {
      for (let cut = entry.path.indexOf('/', entry.path.indexOf('/') + 1); cut !== -1; cut = entry.path.indexOf('/', cut + 1)) {
        const path = this.#roots.bytes(entry.path.slice(0, cut));
        const stat = fs.lstatSync(sysPath(path));
        if (!stat.isDirectory()) throw changed(entry);
        if ((stat.mode & OWNER_SEARCH) !== 0) continue;
        const mode = stat.mode & 0o7777;
        if (this.#guard.widen(path, mode, OWNER_SEARCH)) opened.push({ path, mode });
      }
      return openFile(this.#roots.bytes(entry.path), entry.mode, this.#guard);
    } finally {
      for (const { path, mode } of opened.reverse()) this.#guard.shut(path, mode);
    }
  }

  *#fromTree(entry: ManifestEntry): Generator<Buffer, void> {
    const fd = this.#open(entry);
    if (fd === null) throw changed(entry);
    try {
      const sha = createHash('sha256');
      const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, entry.size + 1));
      for (let at = 0; ;) {
        const count = fs.readSync(fd, piece, 0, piece.length, at);
        at += count;
        if (count === 0 || at > entry.size) break;
        sha.update(piece.subarray(0, count));
        if (at === entry.size && sha.copy().digest('binary') !== entry.hash) throw changed(entry);
        yield piece.subarray(0, count);
      }
      if (sha.digest('binary') !== entry.hash) throw changed(entry);
    } finally {
      fs.closeSync(fd);
    }
  }
}

/** Reads the whole content of a file. Only for contents that the caller knows to be small. */
export function readWhole(contents: Contents, entry: ManifestEntry): Buffer {
  return Buffer.concat(Array.from(contents.chunks(entry), (piece) => Buffer.from(piece)));
}

function changed(entry: ManifestEntry): SnapshotError {
  return new SnapshotError('AF_SNAPSHOT_UNREADABLE', `${displayPath(entry.path)} changed while it was read`);
}
