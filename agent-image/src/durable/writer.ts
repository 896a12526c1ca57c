import { createHash, type Hash } from 'node:crypto';
import { asError, type Clock, type Log } from '@agentfleet/kube';
import type { KeeperClient } from '@agentfleet/keeper/client';
import { partsOf, type Part, type SnapshotRecord } from '@agentfleet/protocol/keeper';
import type { ArtifactStore } from '../store/index.ts';
import {
  encodeCheckpoint,
  openCheckpoint,
  readEnvelope,
  type ActiveTask,
  type Checkpoint,
  contentsOf,
  manifestDigest,
  planPacks,
  type Content,
  checkpointNumber,
  logRange,
  nextNumber,
  type Names,
  type TaskPlaces,
} from './manifest.ts';
import { DurableFailure } from './failure.ts';
import type { LogMirror } from './logMirror.ts';
import { read, type PackShelf } from './shelf.ts';

interface CheckpointWriterOptions {
  readonly store: ArtifactStore;
  readonly shelf: PackShelf;
  readonly places: TaskPlaces;
  readonly mirror: LogMirror;
  readonly keeper: Pick<KeeperClient, 'snapshots' | 'manifest' | 'exportParts'>;
  readonly task: Checkpoint['task'];
  readonly epoch: number;
  readonly active?: ActiveTask | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** A checkpoint that is in the store. */
export interface Written {
  readonly uri: string;
  readonly head: Checkpoint['head'];
  /** False when there was nothing new since the last one. */
  readonly fresh: boolean;
}

/** Manifest and packs of a snapshot, by the digest of its manifest. */
interface Stored {
  readonly manifest: string;
  readonly packs: readonly string[];
}

/** Most times that snapshots are stored for one checkpoint when stored blobs vanish. */
const storeRounds = 3;
const kept = 2;
/** Time for which marks on packs of others are not read again, ms; far less than a sweep waits. */
const freshMs = 10_000;

/** Writes the checkpoints of one task under one epoch. Not two calls at a time. */
export class CheckpointWriter {
  readonly #options: CheckpointWriterOptions;
  readonly #stored = new Map<string, Stored>();
  #numbers: number[] | null = null;
  #last: { readonly said: string; readonly written: Written } | null = null;
  #previous: Checkpoint | null = null;
  /** Names in the newest checkpoint: no sweep removes them. */
  #named: ReadonlySet<string> = new Set();
  #refreshedAt = Number.NEGATIVE_INFINITY;

  constructor(options: CheckpointWriterOptions) {
    this.#options = options;
  }

  /**
   * Stores log and snapshots and then the checkpoint that names them: it is complete, or the one before it stays the
   * newest. `expiresMs`: it is not needed after this time; absent while the task is active. @throws StoreFailure,
   * KeeperRefusal, DurableFailure
   */
  async write(signal: AbortSignal, expiresMs?: number): Promise<Written> {
    const { keeper, mirror } = this.#options;
    try {
      const numbers = (this.#numbers ??= await this.#begin(signal));
      const snapshots = await keeper.snapshots();
      const head = await mirror.catchUp(signal);
      const said = JSON.stringify([head.seq, snapshots.map(({ id }) => id), expiresMs ?? null]);
      if (this.#last?.said === said) return { ...this.#last.written, fresh: false };
      await mirror.compact(signal);
      const names = await this.#storeAll(snapshots, signal);
      const checkpoint = this.#checkpointOf(snapshots, head);
      const uri = await this.#put(numbers, checkpoint, { ...names, expiresMs }, signal);
      const written = { uri, head, fresh: true };
      this.#last = { said, written };
      await this.#tidy(numbers, checkpoint, signal).catch((error: unknown) =>
        this.#options.log.warn('what no checkpoint names could not be removed', { error: asError(error).message }),
      );
      return written;
    } finally {
      // Blobs that the newest checkpoint does not name may be swept before the next one is written.
      this.#forget(({ manifest, packs }) => [manifest, ...packs].every((name) => this.#named.has(name)));
    }
  }

  /** Stores all snapshots; blobs lost or marked by the time all are stored are stored again. Returns the packs that hold them. */
  async #storeAll(snapshots: readonly SnapshotRecord[], signal: AbortSignal): Promise<Names> {
    for (let round = 1; ; round += 1) {
      for (const snapshot of snapshots) await this.#store(snapshot, signal);
      const stored = snapshots.flatMap(({ manifestDigest: digest }) => this.#stored.get(digest) ?? []);
      const packs = [...new Set(stored.flatMap((one) => one.packs))];
      const manifests = [...new Set(stored.map(({ manifest }) => manifest))];
      if ([...packs, ...manifests].every((name) => this.#named.has(name))) return { packs, manifests };
      const lost = await this.#options.shelf.unreliable({ packs, manifests }, signal);
      if (lost.size === 0) return { packs, manifests };
      if (round === storeRounds)
        throw new DurableFailure('Missing', `${[...lost].slice(0, 3).join(', ')} was stored ${round} times and is not in the store`);
      this.#forget(({ manifest, packs: its }) => ![manifest, ...its].some((name) => lost.has(name)));
      this.#options.shelf.drop(lost);
    }
  }

  #checkpointOf(snapshots: readonly SnapshotRecord[], head: Checkpoint['head']): Checkpoint {
    const { task, epoch, clock, mirror } = this.#options;
    const manifests = Object.fromEntries(snapshots.map(({ id, manifestDigest: digest }) => [id, this.#stored.get(digest)?.manifest ?? '']));
    return { task, epoch, at: new Date(clock.now()).toISOString(), head, snapshots, manifests, logs: mirror.ranges };
  }

  /** The one step that makes a checkpoint the newest. */
  async #put(
    numbers: number[],
    checkpoint: Checkpoint,
    named: Names & { readonly expiresMs: number | undefined },
    signal: AbortSignal,
  ): Promise<string> {
    const { places, shelf, store, active } = this.#options;
    const { packs, manifests, expiresMs } = named;
    const number = nextNumber(numbers, checkpoint.epoch);
    const key = places.checkpoint(number);
    const expires = expiresMs === undefined ? null : new Date(Date.parse(checkpoint.at) + expiresMs).toISOString();
    const text = await encodeCheckpoint(shelf.sealer, key, checkpoint, {
      packs,
      expires,
      ...(expires === null && active !== undefined && { active }),
    });
    const { uri } = await store.put(key, text, 'application/json', signal);
    numbers.push(number);
    // After its expiry a checkpoint protects nothing.
    this.#named = new Set(expires === null ? [...packs, ...manifests] : []);
    return uri;
  }

  #forget(stays: (stored: Stored) => boolean): void {
    for (const [digest, stored] of this.#stored) if (!stays(stored)) this.#stored.delete(digest);
  }

  async #begin(signal: AbortSignal): Promise<number[]> {
    const { store, places, shelf } = this.#options;
    const numbers = (await store.list(places.folder, signal)).map(checkpointNumber).filter((one) => one !== null);
    const newest = numbers.at(-1);
    if (newest === undefined) return numbers;
    try {
      const key = places.checkpoint(newest);
      const envelope = readEnvelope(key, await read(store, key, signal));
      const { manifests, snapshots } = await openCheckpoint(shelf.sealer, key, envelope);
      await shelf.learn(envelope.packs, signal);
      for (const { id, manifestDigest: digest } of snapshots) await this.#believe(digest, manifests[id] ?? '', signal);
    } catch (error) {
      // Then everything is stored again, as for a task that has none.
      if (!(error instanceof DurableFailure)) throw error;
    }
    return numbers;
  }

  async #believe(digest: string, manifest: string, signal: AbortSignal): Promise<void> {
    const { shelf } = this.#options;
    const text = await shelf.getManifest(manifest, signal);
    if (!shelf.isCurrentManifest(manifest, text)) return;
    const holders = contentsOf(text).map((content) => shelf.holders(content));
    if (holders.includes(undefined)) return;
    this.#stored.set(digest, { manifest, packs: [...new Set(holders.flatMap((names) => names ?? []))] });
  }

  /** Stores a snapshot, unless one with the same manifest is stored. */
  async #store({ id, manifestDigest: digest }: SnapshotRecord, signal: AbortSignal): Promise<Stored> {
    const known = this.#stored.get(digest);
    if (known !== undefined) return known;
    const { keeper, shelf } = this.#options;
    const text = await keeper.manifest(id, signal);
    if (manifestDigest(text) !== digest) throw new DurableFailure('Damaged', `the manifest of snapshot ${id} has not its digest`);
    const contents = contentsOf(text);
    const packs = await this.#packsOf(contents, signal);
    const stored = { manifest: await shelf.putManifest(text, signal), packs };
    this.#stored.set(digest, stored);
    return stored;
  }

  /** Stores contents and returns the packs that hold them: what another task's refresh forgets meanwhile is stored again. */
  async #packsOf(contents: readonly Content[], signal: AbortSignal): Promise<readonly string[]> {
    const { shelf } = this.#options;
    for (let round = 1; round <= storeRounds; round += 1) {
      await this.#storeContents(contents, signal);
      const holders = contents.map((content) => shelf.holders(content));
      if (!holders.includes(undefined)) return [...new Set(holders.flatMap((names) => names ?? []))];
    }
    throw new DurableFailure('Missing', `contents of a snapshot were stored ${storeRounds} times and are in no pack that is known`);
  }

  async #storeContents(contents: readonly Content[], signal: AbortSignal): Promise<void> {
    const { clock, keeper, shelf } = this.#options;
    const lacking = (): readonly Content[] => contents.filter((content) => shelf.holders(content) === undefined);
    if (lacking().length === 0 && clock.monotonic() - this.#refreshedAt < freshMs) return;
    if (clock.monotonic() - this.#refreshedAt >= freshMs) {
      await shelf.refresh(signal);
      this.#refreshedAt = clock.monotonic();
    }
    const whole = new WholeContents();
    const plans = planPacks(lacking());
    let putting = Promise.resolve('');
    try {
      for (const plan of plans) {
        // One pack is read while the previous one is stored.
        const parts = await keeper.exportParts(plan, signal);
        whole.check(plan, parts);
        await putting;
        putting = shelf.put(parts, signal);
        putting.catch(() => undefined); // reported by the await below or above
      }
    } finally {
      await putting;
    }
  }

  /** Keeps the newest checkpoints and the files of the log that these name. A failed removal is repeated next time. */
  async #tidy(numbers: number[], now: Checkpoint, signal: AbortSignal): Promise<void> {
    const { store, places } = this.#options;
    const old = numbers.slice(0, -kept);
    await store.remove(
      old.map((number) => places.checkpoint(number)),
      signal,
    );
    numbers.splice(0, old.length);
    if (this.#previous !== null) {
      const named = new Set([...now.logs, ...this.#previous.logs].map((range) => places.log(range)));
      const useless = (await store.list(places.logs, signal)).filter((key) => !named.has(key) && this.#outlived(key, now));
      await store.remove(useless, signal);
    }
    this.#previous = now;
  }

  /** A checkpoint of a newer assignment must not be removed: this worker may have been replaced. */
  #outlived(key: string, { head, epoch }: Checkpoint): boolean {
    const range = logRange(key);
    return range !== null && range.to <= head.seq && range.epoch <= epoch;
  }
}

/** Verifies contents before they are stored: all tasks of a pool share them, and a keeper is as good as those who may change its pod. */
class WholeContents {
  #open: { readonly sha256: string; readonly hash: Hash } | null = null;

  /** @throws DurableFailure when the keeper sent other parts than it was asked for, or its copy is damaged */
  check(plan: readonly Part[], parts: Buffer): void {
    let at = 0;
    for (const { bytes, ...part } of partsOf(parts)) {
      const wanted = plan[at++];
      const { sha256, size, offset, length } = part;
      const same = wanted?.sha256 === sha256 && wanted.size === size && wanted.offset === offset && wanted.length === length;
      if (!same) throw new DurableFailure('Damaged', 'the keeper sent other contents than it was asked for');
      if (offset === 0) this.#open = { sha256, hash: createHash('sha256') };
      this.#open?.hash.update(bytes);
      if (offset + length === size && this.#open?.hash.digest('hex') !== sha256)
        throw new DurableFailure('Damaged', `object ${sha256} of the sandbox is damaged`);
    }
    if (at !== plan.length) throw new DurableFailure('Damaged', 'the keeper sent fewer contents than it was asked for');
  }
}
