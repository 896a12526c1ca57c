import fs from 'node:fs';
import { ModeGuard, NO_LIMITS, Scanner, StatCache, type TreeChanges, type TreeLimits, TreeTooLarge } from '../scan/index.ts';
import {
  type Change,
  type Manifest,
  type ManifestEntry,
  type RootBytes,
  type SnapshotRoot,
  type Tree,
  compareManifests,
  countsOf,
  hashOf,
} from '../base/manifest.ts';
import type { Clear, SetMeta, TreeStats, XattrAccess } from '../base/xattrs.ts';
import { type CollectReport, Collector, type InUse, KEEP_ALL, Readers, type Retention, type ScrubOptions, Scrubber } from './collector.ts';
import { type SegmentFs, laterEnd, readLogEnd } from '../objects/segmentLog.ts';
import { SnapshotError, isFull } from '../base/errors.ts';
import type { Readable } from 'node:stream';
import type { ExternalEffect, RestoreReport, ScrubReport, SnapshotRecord, TreeDiff } from '@agentfleet/protocol/keeper';
import { type Adoption, CasAdoption, readFloor } from './adoption.ts';
import { Contents } from '../restore/contents.ts';
import { makeTreeDiff } from '../diff/treeDiff.ts';
import { ObjectStore } from '../objects/objectStore.ts';
import { displayPath } from '../base/pathBytes.ts';
import { type Base, SnapshotFiles } from '../records/snapshotFiles.ts';
import { applyPlan, checkContents, restoreFailure } from '../restore/apply.ts';
import { planRestore, skippedAt } from '../restore/plan.ts';
import { RootMap, Staging } from '../restore/staging.ts';
import { Serial } from '@agentfleet/protocol/serial';
import { Slices } from '../base/slices.ts';
import { type StoreLayout, checkRoots, openLayout, readStored } from '../objects/stored.ts';
import { makeBundle } from '../revert/bundle.ts';

export interface CasOptions {
  /** A directory that only this engine uses, on a durable volume outside of the roots. */
  readonly storeDir: string;
  readonly roots: readonly SnapshotRoot[];
  readonly setMeta: SetMeta;
  /** Absent: a tree that is larger than the limits cannot be restored. */
  readonly clear?: Clear;
  /** Absent: extended attributes are neither captured nor set. */
  readonly xattrs?: XattrAccess;
  /** Absent: a scan asks for one name after the other. */
  readonly treeStats?: TreeStats;
  /** Source of what can have changed between scans. Absent: everything is checked. */
  readonly changes?: TreeChanges;
  /** `now` in milliseconds since 1970, from the clock that the kernel stamps files with. */
  readonly clock: { readonly now: () => number };
  /** A larger tree is refused by `take`, and cleared by `restore`. Default: no limits. */
  readonly limits?: TreeLimits;
  /** Retention of `collect`. Default: all snapshots stay, and only unreferenced objects are freed. */
  readonly retention?: Retention;
  /** Id of the machine's boot. Default: from the kernel. */
  readonly bootId?: string;
  /** Planted faults, for tests. */
  readonly segmentFs?: SegmentFs;
}

/** A full store must not fail a restore: without this file only `parent` of a later snapshot may be wrong. */
function writeHead(path: string, id: string): void {
  try {
    fs.writeFileSync(path, id, { mode: 0o600 });
  } catch (error) {
    if (!isFull(error)) throw error;
    fs.rmSync(path, { force: true });
  }
}

const MAX_MISMATCHES = 5;

function mismatch(id: string, different: readonly Change[]): SnapshotError {
  const named = different.slice(0, MAX_MISMATCHES).map(({ path }) => displayPath(path));
  const more = different.length > named.length ? ', …' : '';
  return new SnapshotError('AF_RESTORE_MISMATCH', `after restoring ${id}, ${different.length} paths differ: ${named.join(', ')}${more}`);
}

/** After a take that has stored more than this, a kill must not cost the next keeper as much reading. */
const SAVE_AFTER = 1000;

export interface TakeOptions {
  readonly label?: string;
  /** Bytes that the object log may grow by; more is AF_STORE_FULL. */
  readonly maxBytes?: number;
}

/** Name of the current tree in `diff` and `revertBundle`. */
export const CURRENT = 'current';

/**
 * Snapshots of a set of directories, by content: each file's bytes once in an append-only log, each snapshot a manifest. A snapshot exists
 * from the moment its manifest is renamed into place, after its objects are durable. Calls that read or write the tree run one after
 * another; the caller guarantees that nothing else writes to it during take, restore and scan. Every failure that a caller can handle is a
 * `SnapshotError`. An engine that also moves the tree by other means extends {@link takeNow} and {@link restoreNow}.
 */
export class CasEngine {
  readonly #roots: readonly RootBytes[];
  readonly #layout: StoreLayout;
  readonly #files: SnapshotFiles;
  readonly #store: ObjectStore;
  readonly #scanner: Scanner;
  readonly #staging: Staging;
  readonly #contents: Contents;
  readonly #options: CasOptions;
  readonly #collector: Collector;
  readonly #readers = new Readers();
  readonly #serial = new Serial();
  /** Ends a collection of our own accord when someone waits. */
  #collecting: AbortController | null = null;
  /** The snapshot that the tree was last at; `undefined` until it is asked for. */
  #head: Base | null | undefined;

  /** Opens a store, creating it when absent, and rolls back what a killed keeper left incomplete. */
  constructor(options: CasOptions) {
    this.#options = options;
    this.#roots = checkRoots(options.roots, options.storeDir);
    this.#layout = openLayout(options.storeDir);
    const guard = new ModeGuard(this.#layout.modeJournal);
    guard.recover();
    this.#staging = new Staging(this.#layout.stagingJournal);
    this.#staging.recover();
    this.#files = new SnapshotFiles(this.#layout.snapshots);
    readFloor(this.#layout.floor, this.#files);
    const end = laterEnd(this.#files.logEnd(), readLogEnd(this.#layout.logEnd));
    this.#store = new ObjectStore(this.#layout.segments, end, options.segmentFs);
    this.#collector = new Collector({
      files: this.#files,
      store: this.#store,
      logEndPath: this.#layout.logEnd,
      retention: options.retention ?? KEEP_ALL,
    });
    this.#contents = new Contents(this.#store, new RootMap(this.#roots), guard);
    this.#scanner = new Scanner({
      ...options,
      roots: this.#roots,
      store: this.#store,
      guard,
      limits: options.limits ?? NO_LIMITS,
      cache: new StatCache(this.#layout.statCache, options.bootId),
      now: () => options.clock.now(),
    });
  }

  /** Captures the tree. AF_STORE_FULL leaves tree and earlier snapshots as they were. */
  take(options: TakeOptions = {}): Promise<SnapshotRecord> {
    return this.#run(async () => {
      const record = await this.takeNow(options);
      if (this.#collector.due) this.#collectSoon();
      if (record.addedObjects > SAVE_AFTER) void this.#serial.run(async () => this.#scanner.save());
      return record;
    });
  }

  /**
   * Makes the tree equal to a snapshot, reads it again and compares the digests. A report always
   * has `verified: true`; otherwise AF_RESTORE_MISMATCH is thrown, which names the first paths that differ.
   * AF_SNAPSHOT_OBJECT_CORRUPT is thrown before the tree is touched. May be repeated after a kill.
   */
  restore(id: string): Promise<RestoreReport> {
    return this.#run(() => this.restoreNow(id));
  }

  /** Manifest of the tree now. */
  scan(): Promise<Manifest> {
    return this.#run(() => this.#scanner.scan(false, new Slices()));
  }

  async manifest(id: string): Promise<Manifest> {
    return this.#head?.id === id ? this.#head.manifest : this.#files.load(id, this.#head?.manifest.entries).manifest;
  }

  /** Oldest first; without those that are known to be broken. */
  list(): readonly SnapshotRecord[] {
    return this.#files.list();
  }

  /**
   * Returns the changes, without those of the modification time alone; a long `unified` is cut, and states so.
   * @param hide takes secrets out of whole texts before their lines are compared; absent: nothing
   */
  diff(from: string, to: string, hide?: (text: string) => string): Promise<TreeDiff> {
    return this.#run(async () => {
      const slices = new Slices();
      const changes = compareManifests(await this.#resolve(from, slices), await this.#resolve(to, slices));
      return makeTreeDiff({ from, to }, changes, this.#contents, { slices, hide });
    });
  }

  /**
   * A tar whose `revert.sh` undoes from → to on the real tree; `to` may be `current`. `external` is reported in its description. It carries its
   * own proof (guard before, verification after) and needs only sh and GNU or busybox tools.
   */
  revertBundle(from: string, to: string, external: readonly ExternalEffect[] = []): Promise<Readable> {
    return this.#run(async () => {
      const slices = new Slices();
      const left = { name: from, manifest: await this.#resolve(from, slices) };
      const right = { name: to, manifest: await this.#resolve(to, slices) };
      return this.#readers.hold(makeBundle(left, right, this.#roots, this.#contents, external), [left.manifest, right.manifest]);
    });
  }

  /**
   * Removes snapshots by the engine's retention and frees unreferenced objects. Runs automatically after a take when
   * too many have accumulated, and before a take is refused for lack of room. Never during a take; a kill at any
   * instant does no damage to kept snapshots.
   */
  collect(): Promise<CollectReport> {
    return this.#run(() => this.#collector.collect('Asked', this.#inUse(), new Slices()));
  }

  /**
   * Checks manifests and contents against their hashes, concurrently with everything else. A broken snapshot is omitted
   * from `list` from then on; it returns when its contents have been stored again and a later scrub, or a restore of
   * it, finds them. Throws the signal's reason when aborted.
   */
  scrub(options: ScrubOptions = {}): Promise<ScrubReport> {
    return new Scrubber(this.#files, this.#store).scrub(options);
  }

  /** Whole content by hex SHA-256, verified. */
  async readObject(sha256: string): Promise<Buffer> {
    return Buffer.concat(Array.from(this.#store.chunks(hashOf(sha256)), (piece) => Buffer.from(piece)));
  }

  /** Part of a content, not verified: for contents that are too large to be held in memory. */
  async readRange(sha256: string, offset: number, bytes: number): Promise<Buffer> {
    return this.#store.range(hashOf(sha256), offset, bytes);
  }

  /**
   * Begins to import snapshots from another engine; only while this one has none. `maxBytes`: bytes that the store may
   * grow by. Nothing is visible before `place`. After a kill the caller removes the engine's whole folder when the rest
   * of the import did not complete.
   */
  adopt(maxBytes: number): Adoption {
    this.#head = undefined;
    return new CasAdoption(this.#files, this.#store, this.#layout, maxBytes);
  }

  async close(): Promise<void> {
    await this.#serial.idle();
    this.#scanner.save();
    this.#store.close();
  }

  /** Runs jobs one after another. They preempt a background collection. */
  #run<T>(job: () => Promise<T>): Promise<T> {
    this.#collecting?.abort();
    return this.#serial.run(job);
  }

  #collectSoon(): void {
    const preempt = new AbortController();
    this.#collecting = preempt;
    void this.#serial
      .run(() => this.#collector.collect('Count', this.#inUse(), new Slices(preempt.signal), preempt.signal))
      .catch((error: unknown) => {
        if (!preempt.signal.aborted) this.#options.retention?.onFailed?.(error);
      });
  }

  #inUse(): InUse {
    const head = this.#headId();
    return { ids: head === undefined ? [] : [head], objects: this.#readers.objects() };
  }

  /** A snapshot for which the store has no room is tried once more when a collection has made some. */
  protected async takeNow(options: TakeOptions): Promise<SnapshotRecord> {
    try {
      return await this.#take(options);
    } catch (error) {
      if (!(error instanceof SnapshotError) || error.code !== 'AF_STORE_FULL') throw error;
      const { freedBytes } = await this.#collector.collect('Room', this.#inUse(), new Slices()).catch((why: unknown) => {
        throw isFull(why) ? error : why;
      });
      if (freedBytes <= 0) throw error;
      return this.#take({ ...options, maxBytes: (options.maxBytes ?? Number.POSITIVE_INFINITY) + freedBytes });
    }
  }

  async #take({ label, maxBytes }: TakeOptions): Promise<SnapshotRecord> {
    const started = performance.now();
    const takenAt = new Date(this.#options.clock.now()).toISOString();
    try {
      this.#store.allow(maxBytes ?? Number.POSITIVE_INFINITY);
      const manifest = await this.#scanner.scan(true, new Slices());
      const added = await this.#store.sync();
      const head = this.#loadHead(manifest.entries);
      const counts = { ...countsOf(manifest), addedObjects: added.objects, addedBytes: added.bytes };
      const [id, tookMs] = [this.#files.nextId(), Math.round(performance.now() - started)];
      const record: SnapshotRecord = { id, parent: head?.id ?? null, label: label ?? null, takenAt, ...counts, tookMs };
      this.#head = this.#files.write(record, manifest, head, added.end);
      this.#store.keep();
      fs.rmSync(this.#layout.head, { force: true });
      return record;
    } catch (error) {
      this.#store.abort();
      if (isFull(error)) throw new SnapshotError('AF_STORE_FULL', 'the snapshot store has no room for this snapshot', { cause: error });
      throw error;
    }
  }

  protected async restoreNow(id: string): Promise<RestoreReport> {
    const started = performance.now();
    this.#files.check(id);
    const slices = new Slices();
    const looking = this.#scanOrClear(id, slices);
    // Runs beside the program that stats the tree. A damaged snapshot is read again, which reports the fault.
    const early = this.#head && this.#files.loadIfSound(id, this.#head.manifest.entries);
    const { current, cleared } = await looking;
    const target = early ?? this.#files.load(id, current.entries);
    const plan = planRestore(current, target.manifest);
    try {
      await applyPlan(plan, { ...this.#options, roots: new RootMap(this.#roots), store: this.#store, staging: this.#staging, slices });
    } catch (error) {
      throw restoreFailure(id, error);
    }
    const after = await this.#scanner.scan(false, slices);
    if (after.digest !== target.manifest.digest) throw mismatch(id, compareManifests(target.manifest, after));
    const report: RestoreReport = {
      id,
      verified: true,
      manifestDigest: after.digest,
      expectedDigest: target.manifest.digest,
      created: plan.created,
      modified: plan.modified,
      deleted: plan.deleted + cleared,
      mismatches: [],
      tookMs: Math.round(performance.now() - started),
    };
    this.#files.markSound(id);
    this.#head = { ...target, manifest: { ...target.manifest, entries: after.entries } };
    writeHead(this.#layout.head, id);
    return report;
  }

  /**
   * Scans the tree; one too large to read is cleared first, and what the snapshot knows to be special stays. Where that is the reason, it
   * goes as well.
   */
  async #scanOrClear(id: string, slices: Slices): Promise<{ readonly current: Tree; readonly cleared: number }> {
    for (let [round, cleared] = [0, 0]; ; round++) {
      try {
        return { current: await this.#scanner.look(false, slices), cleared };
      } catch (error) {
        if (!(error instanceof TreeTooLarge) || this.#options.clear === undefined || round > 1) throw error;
      }
      this.#scanner.forget();
      const { manifest } = this.#files.load(id);
      if (round === 0) await checkContents(manifest.entries, { store: this.#store, slices });
      const kept = round === 0 ? skippedAt(manifest) : [];
      for (const { name, textPath } of this.#roots) {
        const below = kept.filter((path) => path.startsWith(`${name}/`)).map((path) => path.slice(name.length + 1));
        cleared += await this.#options.clear(textPath, below);
      }
    }
  }

  #resolve(name: string, slices: Slices): Promise<Manifest> {
    return name === CURRENT ? this.#scanner.scan(false, slices) : this.manifest(name);
  }

  /** After a restore the head is not the newest snapshot, and a file names it. */
  #headId(): string | undefined {
    return this.#head?.id ?? readStored(this.#layout.head) ?? this.#files.list().at(-1)?.id;
  }

  /** After a restart the manifest of the head is read once, so that the next take can be written against it. */
  #loadHead(known: readonly ManifestEntry[]): Base | null {
    if (this.#head === undefined) {
      const id = this.#headId();
      this.#head = id === undefined ? null : this.#files.loadIfSound(id, known);
    }
    return this.#head;
  }
}
