import fs from 'node:fs';
import type { Part as PartHeader, SnapshotRecord } from '@agentfleet/protocol/keeper';
import { SnapshotError, isFull } from '../base/errors.ts';
import { type StoreLayout, readStored, replaceStored } from '../objects/stored.ts';
import { type Manifest, digestOf, hashOf, parseManifest } from '../base/manifest.ts';
import type { Incoming, ObjectStore } from '../objects/objectStore.ts';
import type { Base, SnapshotFiles } from '../records/snapshotFiles.ts';

interface Part extends Omit<PartHeader, 'length'> {
  readonly bytes: Buffer;
}

/** Takes snapshots over into a store that has none. Contents come first, then the snapshots that name them. */
export type Adoption = Pick<CasAdoption, keyof CasAdoption>;

export class CasAdoption {
  readonly #files: SnapshotFiles;
  readonly #store: ObjectStore;
  readonly #layout: Pick<StoreLayout, 'floor'>;
  readonly #placed: string[] = [];
  #open: { readonly sha256: string; readonly incoming: Incoming; next: number } | null = null;

  constructor(files: SnapshotFiles, store: ObjectStore, layout: Pick<StoreLayout, 'floor'>, maxBytes: number) {
    this.#files = files;
    this.#store = store;
    this.#layout = layout;
    store.allow(maxBytes);
  }

  /** Adds a part of a content; the parts of one follow one another. Verified with its last byte: AF_SNAPSHOT_OBJECT_CORRUPT. */
  add(part: Part): void {
    try {
      this.#part(part);
    } catch (error) {
      throw full(error);
    }
  }

  /**
   * Makes snapshots durable, oldest first, with their ids, labels and digests. AF_SNAPSHOT_OBJECT_CORRUPT when a
   * manifest's digest differs from its record, or it names a missing content. `above`: no later snapshot gets this id
   * or a lower one.
   */
  async place(
    snapshots: readonly { readonly record: SnapshotRecord; readonly text: () => Promise<Buffer> }[],
    above: string,
  ): Promise<void> {
    try {
      this.#closed();
      const { end } = await this.#store.sync();
      writeFloor(this.#layout.floor, above);
      let base: Base | null = null;
      for (const { record, text } of snapshots) {
        base = this.#files.place(record, this.#manifest(record, await text(), base), base, end);
        this.#placed.push(record.id);
      }
      this.#files.reserve(above);
      this.#store.keep();
    } catch (error) {
      throw full(error);
    }
  }

  drop(): void {
    this.#open = null;
    this.#files.remove(this.#placed.splice(0));
    this.#store.abort();
  }

  #part({ sha256, size, offset, bytes }: Part): void {
    if (offset === 0) {
      this.#closed();
      this.#open = { sha256, incoming: this.#store.incoming(), next: 0 };
    }
    const open = this.#open;
    if (open === null || open.sha256 !== sha256 || open.next !== offset)
      throw damaged(`part ${offset} of object ${sha256} is out of order`);
    open.incoming.append(bytes);
    open.next += bytes.length;
    if (open.next < size) return;
    this.#open = null;
    open.incoming.finish(hashOf(sha256));
  }

  #closed(): void {
    if (this.#open !== null) throw damaged(`object ${this.#open.sha256} is not whole`);
  }

  #manifest(record: SnapshotRecord, text: Buffer, base: Base | null): Manifest {
    const entries = read(record.id, text);
    const digest = digestOf(entries);
    if (digest !== record.manifestDigest) throw damaged(`the manifest of snapshot ${record.id} has the digest ${digest}`);
    const lost = entries.find(({ type, hash }) => type === 'f' && !this.#store.has(hash));
    if (lost !== undefined) throw damaged(`a content of snapshot ${record.id} is missing`);
    const known = new Map(base?.manifest.entries.map((entry) => [entry.line, entry]));
    return { digest, entries: entries.map((entry) => known.get(entry.line) ?? entry), skipped: record.skipped };
  }
}

function read(id: string, text: Buffer): ReturnType<typeof parseManifest> {
  try {
    return parseManifest(text);
  } catch (error) {
    throw damaged(`the manifest of snapshot ${id} cannot be read`, error);
  }
}

function damaged(what: string, cause?: unknown): SnapshotError {
  return new SnapshotError('AF_SNAPSHOT_OBJECT_CORRUPT', what, { cause });
}

function full(error: unknown): unknown {
  if (!isFull(error)) return error;
  return new SnapshotError('AF_STORE_FULL', 'the snapshot store has no room for what is adopted', { cause: error });
}

/** Ids up to this one were given by another store; durable when this returns. */
function writeFloor(path: string, id: string): void {
  replaceStored(path, (fd) => fs.writeFileSync(fd, id));
}

/** Keeps ids from being given again, after a start. */
export function readFloor(path: string, files: SnapshotFiles): void {
  const text = readStored(path) ?? '';
  if (/^s\d{4,}$/.test(text)) files.reserve(text);
}
