import type { ScrubReport } from '@agentfleet/protocol/keeper';
import { errnoOf, isFull, SnapshotError } from '../base/errors.ts';
import { hashOf, hexOf, type ManifestEntry, type Manifest } from '../base/manifest.ts';
import type { LiveObjects, Reclaimed } from '../objects/compactor.ts';
import { writeLogEnd } from '../objects/segmentLog.ts';
import type { ObjectStore } from '../objects/objectStore.ts';
import { retainedIds, type RetentionRule, type Base, type SnapshotFiles } from '../records/snapshotFiles.ts';
import { Slices } from '../base/slices.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { displayPath } from '../base/pathBytes.ts';
import type { Readable } from 'node:stream';

/** Reason that a collection ran: too many snapshots, no room for the next one, or a caller's request. */
type CollectReason = 'Count' | 'Room' | 'Asked';

export interface CollectReport {
  readonly reason: CollectReason;
  readonly removed: readonly string[];
  readonly kept: number;
  readonly freedObjects: number;
  readonly freedBytes: number;
  readonly tookMs: number;
}

export interface ScrubOptions {
  /** Bytes that may be read per second. Default: no limit. */
  readonly bytesPerSecond?: number;
  readonly signal?: AbortSignal;
}

export interface CollectIntent {
  readonly reason: CollectReason;
  /** Ids, oldest first. */
  readonly remove: readonly string[];
}

/** Rule for the snapshots that stay, and hooks that report the removal of the others. */
export interface Retention extends RetentionRule {
  /** Further ids that must stay, asked before each collection. Default: none. */
  readonly protectedIds?: () => Promise<readonly string[]>;
  /** Awaited before anything is removed; a rejection prevents it. */
  readonly onIntent?: (intent: CollectIntent) => Promise<void>;
  readonly onDone?: (report: CollectReport) => void;
  /** A collection of the engine's own accord failed; nothing that stays is harmed. */
  readonly onFailed?: (error: unknown) => void;
}

export const KEEP_ALL: Retention = { newest: Number.POSITIVE_INFINITY, labels: [] };

interface CollectorOptions {
  readonly files: SnapshotFiles;
  readonly store: ObjectStore;
  readonly logEndPath: string;
  readonly retention: Retention;
}

export interface InUse {
  /** Snapshots that the tree or a reader needs. */
  readonly ids: Iterable<string>;
  readonly objects: LiveObjects;
}

/** Segments with more live bytes than this share are left alone: moving them costs more than it frees. */
const LIVE_SHARE = { Count: 0.5, Asked: 0.9, Room: 0.95 } as const;

/**
 * Removes snapshots by retention and frees unreferenced objects. In this order, each step durable before the next: kept
 * manifests become independent of removed ones, manifests are removed, records move, segments are removed.
 */
export class Collector {
  readonly #options: CollectorOptions;
  /** The last one gave way before all was freed. */
  #unfinished = false;

  constructor(options: CollectorOptions) {
    this.#options = options;
  }

  /** True when enough snapshots have accumulated: a collection after each one would rewrite a manifest each time. */
  get due(): boolean {
    const { files, retention } = this.#options;
    const records = files.all();
    const spare = records.length - retainedIds(records, retention, []).size;
    return this.#unfinished || spare > (retention.slack ?? Math.ceil(retention.newest / 5));
  }

  async collect(reason: CollectReason, inUse: InUse, slices: Slices, signal?: AbortSignal): Promise<CollectReport> {
    const started = performance.now();
    const { files, retention } = this.#options;
    const named = [...((await retention.protectedIds?.()) ?? []), ...inUse.ids];
    const records = files.all();
    const kept = this.#withBases(
      retainedIds(records, retention, named),
      records.map(({ id }) => id),
    );
    const remove = records.map(({ id }) => id).filter((id) => !kept.has(id));
    if (remove.length > 0) {
      await retention.onIntent?.({ reason, remove });
      files.remove(remove);
    }
    const freed = await this.#free(reason, inUse.objects, slices, signal);
    const report = { reason, removed: remove, kept: kept.size, ...freed, tookMs: Math.round(performance.now() - started) };
    if (remove.length > 0 || freed.freedBytes > 0) retention.onDone?.(report);
    return report;
  }

  /** Frees unreferenced objects. When preempted, what was freed stays freed. */
  async #free(reason: CollectReason, inUse: LiveObjects, slices: Slices, signal?: AbortSignal): Promise<Reclaimed> {
    const { store, logEndPath } = this.#options;
    this.#unfinished = true;
    try {
      const live = await this.#live(inUse, slices);
      const freed = await store.collect(live, LIVE_SHARE[reason], (end) => writeLogEnd(logEndPath, end), slices, signal);
      this.#unfinished = signal?.aborted === true;
      return freed;
    } catch (error) {
      if (signal?.aborted !== true) throw error;
      return { freedBytes: 0, freedObjects: 0 };
    }
  }

  /** Rewrites kept manifests against kept ones. Where the volume has no room for that, their bases stay as well. */
  #withBases(retained: ReadonlySet<string>, ids: readonly string[]): Set<string> {
    const kept = new Set(retained);
    for (const id of ids) {
      if (!kept.has(id)) continue;
      try {
        const base = this.#nextKept(id, kept);
        if (base !== this.#options.files.baseOf(id)) this.#options.files.rebase(id, this.#load(base));
      } catch (error) {
        if (isFull(error)) for (let at = this.#baseOf(id); at !== null; at = this.#baseOf(at)) kept.add(at);
        else if (!isDamaged(error)) throw error;
      }
    }
    return kept;
  }

  #nextKept(id: string, kept: ReadonlySet<string>): string | null {
    const { files } = this.#options;
    let base = files.baseOf(id);
    while (base !== null && !kept.has(base)) base = files.baseOf(base);
    return base;
  }

  #baseOf(id: string): string | null {
    return this.#options.files.has(id) ? this.#options.files.baseOf(id) : null;
  }

  #load(id: string | null): Base | null {
    return id === null ? null : this.#options.files.load(id);
  }

  /** Every `+` line of a snapshot's file is an entry of its manifest, and all bases are there: together they are all that is named. */
  async #live(inUse: LiveObjects, slices: Slices): Promise<LiveObjects> {
    const { files } = this.#options;
    const live = new Map(inUse);
    for (const { id } of files.all()) {
      for (const line of files.lines(id)) {
        if (!line.startsWith('+f ')) continue;
        const [, , size, sha256 = ''] = line.split(' ', 4);
        live.set(hashOf(sha256), Number(size));
      }
      if (slices.due()) await slices.pause();
    }
    return live;
  }
}

/** A manifest that cannot be read names nothing that could be restored; a disk that fails to read is another matter. */
function isDamaged(error: unknown): boolean {
  return error instanceof SnapshotError && errnoOf(error.cause) === '';
}

const MAX_PATHS = 20;
/** Shorter waits are saved up. */
const MIN_WAIT_MS = 20;

/**
 * Reads every manifest and every content that one of them names, and compares them with their hashes. Needs no lock:
 * concurrent takes and collections are not judged. A damaged object is forgotten, so that the next snapshot of a tree
 * with the same content stores it again, which repairs the others.
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

  async #check(hash: string, slices: Slices): Promise<string | null> {
    try {
      for (const _ of this.#store.chunks(hash)) if (slices.due()) await slices.pause();
      return null;
    } catch (error) {
      if (error instanceof SnapshotError) return error.message;
      throw error;
    }
  }

  /** Finds the existing snapshots that name damaged objects, and marks each as broken or sound. */
  async #blame(ids: readonly string[], bad: ReadonlyMap<string, string>, slices: Slices): Promise<ScrubReport['damaged']> {
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

/** Streams that outlive the job that made them, and the contents that they may still ask for. */
export class Readers {
  readonly #held = new Set<readonly Manifest[]>();

  /** Holds the contents of these manifests until the stream is closed. */
  hold(stream: Readable, manifests: readonly Manifest[]): Readable {
    this.#held.add(manifests);
    stream.once('close', () => this.#held.delete(manifests));
    return stream;
  }

  objects(): LiveObjects {
    const live = new Map<string, number>();
    for (const { entries } of [...this.#held].flat()) {
      for (const { type, hash, size } of entries) if (type === 'f') live.set(hash, size);
    }
    return live;
  }
}
