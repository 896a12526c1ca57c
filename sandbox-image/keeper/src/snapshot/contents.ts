import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { SnapshotError } from './errors.ts';
import type { ManifestEntry } from './manifest.ts';
import type { ObjectStore } from './objects/objectStore.ts';
import { displayPath } from './pathBytes.ts';
import type { RootMap } from './restore/staging.ts';
import type { ModeGuard } from './scan/modeGuard.ts';
import { openFile } from './scan/openFile.ts';

const PIECE_BYTES = 1024 * 1024;

/** Where the bytes of a manifest's files can be read, verified, in pieces of at most 1 MiB. */
export interface Contents {
  chunks(entry: ManifestEntry): Generator<Buffer, void>;
}

/** Contents of files from the store or, where it lacks them (they were never captured), from the tree. */
export class StoredOrCurrent implements Contents {
  readonly #store: ObjectStore;
  readonly #roots: RootMap;
  readonly #guard: ModeGuard;

  constructor(store: ObjectStore, roots: RootMap, guard: ModeGuard) {
    this.#store = store;
    this.#roots = roots;
    this.#guard = guard;
  }

  chunks(entry: ManifestEntry): Generator<Buffer, void> {
    return this.#store.has(entry.hash) ? this.#store.chunks(entry.hash) : this.#fromTree(entry);
  }

  *#fromTree(entry: ManifestEntry): Generator<Buffer, void> {
    const fd = openFile(this.#roots.bytes(entry.path), entry.mode, this.#guard);
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

/** The whole content of a file. Only for what the caller knows to be small. */
export function readWhole(contents: Contents, entry: ManifestEntry): Buffer {
  return Buffer.concat(Array.from(contents.chunks(entry), (piece) => Buffer.from(piece)));
}

function changed(entry: ManifestEntry): SnapshotError {
  return new SnapshotError('AF_SNAPSHOT_UNREADABLE', `${displayPath(entry.path)} changed while it was read`);
}
