import { setTimeout as sleep } from 'node:timers/promises';
import { SnapshotError } from './errors.ts';
import { hexOf, type ManifestEntry } from './manifest.ts';
import type { ObjectStore } from './objects/objectStore.ts';
import { displayPath } from './pathBytes.ts';
import type { SnapshotFiles } from './records/snapshotFiles.ts';
import { Slices } from './slices.ts';

export interface ScrubOptions {
  /** How much may be read each second. Default: no limit. */
  readonly bytesPerSecond?: number;
  readonly signal?: AbortSignal;
}

/** An object that does not match its name, and what lacks it. */
export interface DamagedObject {
  readonly sha256: string;
  /** Text for people. */
  readonly why: string;
  readonly snapshots: readonly string[];
  /** At most 20, text for people. */
  readonly paths: readonly string[];
}

export interface ScrubReport {
  readonly snapshots: number;
  readonly objects: number;
  readonly bytes: number;
  readonly damaged: readonly DamagedObject[];
  /** Snapshots that cannot be restored, by their own file or by an object. */
  readonly broken: readonly string[];
  readonly tookMs: number;
}

const MAX_PATHS = 20;
/** Shorter waits are saved up. */
const MIN_WAIT_MS = 20;

/**
 * Reads every manifest and every content that one of them names, and compares them with their hashes. Needs no
 * lock: what is taken or collected meanwhile is not judged. A damaged object is forgotten, so that the next
 * snapshot of a tree that has the same content stores it again, which heals the others.
 */
export class Scrubber {
  readonly #files: SnapshotFiles;
  readonly #store: ObjectStore;

  constructor(files: SnapshotFiles, store: ObjectStore) {
    this.#files = files;
    this.#store = store;
  }

  async scrub({ bytesPerSecond = Number.POSITIVE_INFINITY, signal }: ScrubOptions): Promise<ScrubReport> {
    const started = performance.now();
    const slices = new Slices(signal);
    const named = new Map<string, number>();
    const sound: string[] = [];
    for (const { id } of this.#files.all()) {
      for (const { type, hash, size } of this.#files.loadIfSound(id)?.manifest.entries ?? []) if (type === 'f') named.set(hash, size);
      await slices.pause();
      sound.push(id);
    }
    const bad = new Map<string, string>();
    let bytes = 0;
    for (const [hash, size] of named) {
      const why = await this.#check(hash, slices);
      if (why !== null) bad.set(hash, why);
      bytes += size;
      const aheadMs = (bytes / bytesPerSecond) * 1000 - (performance.now() - started);
      if (aheadMs > MIN_WAIT_MS) await sleep(aheadMs, undefined, signal === undefined ? {} : { signal });
    }
    const damaged = await this.#blame(sound, bad, slices);
    const broken = this.#files.broken;
    return { snapshots: sound.length, objects: named.size, bytes, damaged, broken, tookMs: Math.round(performance.now() - started) };
  }

  /** What is wrong with an object; null for nothing. */
  async #check(hash: string, slices: Slices): Promise<string | null> {
    try {
      for (const _ of this.#store.chunks(hash)) if (slices.due()) await slices.pause();
      return null;
    } catch (error) {
      if (error instanceof SnapshotError) return error.message;
      throw error;
    }
  }

  /** Finds who names what is damaged, among the snapshots that are still there, and marks each as it is. */
  async #blame(ids: readonly string[], bad: ReadonlyMap<string, string>, slices: Slices): Promise<DamagedObject[]> {
    const blamed = new Map<string, { why: string; snapshots: string[]; paths: Set<string> }>();
    for (const id of ids.filter((one) => this.#files.has(one))) {
      const manifest = this.#files.loadIfSound(id)?.manifest;
      if (manifest === undefined) continue;
      const lost = manifest.entries.filter(({ type, hash }) => type === 'f' && bad.has(hash));
      for (const entry of lost) note(blamed, entry, id, bad.get(entry.hash) ?? '');
      if (lost.length > 0) this.#files.markBroken(id);
      else this.#files.markSound(id);
      await slices.pause();
    }
    for (const hash of blamed.keys()) this.#store.forget(hash);
    return Array.from(blamed, ([hash, { why, snapshots, paths }]) => ({ sha256: hexOf(hash), why, snapshots, paths: [...paths] }));
  }
}

function note(
  blamed: Map<string, { why: string; snapshots: string[]; paths: Set<string> }>,
  { hash, path }: ManifestEntry,
  id: string,
  why: string,
): void {
  const known = blamed.get(hash) ?? { why, snapshots: [], paths: new Set<string>() };
  blamed.set(hash, known);
  if (known.snapshots.at(-1) !== id) known.snapshots.push(id);
  if (known.paths.size < MAX_PATHS) known.paths.add(displayPath(path));
}
