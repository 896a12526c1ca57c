import { createHash, type Hash } from 'node:crypto';
import type { Clock } from '@agentfleet/kube';
import type { KeeperClient } from '@agentfleet/keeper/client';
import { partsOf, type Part, type SnapshotRecord } from '@agentfleet/protocol/keeper';
import type { ArtifactStore } from '../store/index.ts';
import { encodeCheckpoint, openCheckpoint, readEnvelope, type Checkpoint } from './checkpointIndex.ts';
import { DurableFailure } from './failure.ts';
import type { LogMirror } from './logMirror.ts';
import { contentsOf, manifestDigest, planPacks, type Content } from './manifest.ts';
import { checkpointNumber, logRange, nextNumber, type TaskPlaces } from './places.ts';
import { read, type PackShelf } from './shelf.ts';

export interface CheckpointWriterOptions {
  readonly store: ArtifactStore;
  readonly shelf: PackShelf;
  readonly places: TaskPlaces;
  readonly mirror: LogMirror;
  readonly keeper: Pick<KeeperClient, 'snapshots' | 'manifest' | 'exportParts'>;
  readonly task: Checkpoint['task'];
  readonly epoch: number;
  readonly clock: Clock;
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

/** How many checkpoints of a task stay. */
const kept = 2;
/** What is known of the packs of others is believed for so long, ms; far less than a sweep waits. */
const believedMs = 10_000;

/** Writes the checkpoints of one task under one epoch. Not two calls at a time. */
export class CheckpointWriter {
  readonly #options: CheckpointWriterOptions;
  readonly #stored = new Map<string, Stored>();
  #numbers: number[] | null = null;
  #last: { readonly said: string; readonly written: Written } | null = null;
  #previous: Checkpoint | null = null;
  #refreshedAt = Number.NEGATIVE_INFINITY;

  constructor(options: CheckpointWriterOptions) {
    this.#options = options;
  }

  /**
   * Stores log and snapshots and then the checkpoint that names them: it is there whole, or the one before it stays the newest.
   * `expiresMs`: after so long nobody needs it; absent while the task goes on. @throws StoreFailure, KeeperRefusal, DurableFailure
   */
  async write(signal: AbortSignal, expiresMs?: number): Promise<Written> {
    const { store, shelf, places, mirror, clock, task, epoch, keeper } = this.#options;
    const numbers = (this.#numbers ??= await this.#begin(signal));
    const snapshots = await keeper.snapshots();
    const head = await mirror.catchUp(signal);
    const said = JSON.stringify([head.seq, snapshots.map(({ id }) => id), expiresMs ?? null]);
    if (this.#last?.said === said) return { ...this.#last.written, fresh: false };
    await mirror.compact(signal);
    const manifests: Record<string, string> = {};
    for (const snapshot of snapshots) manifests[snapshot.id] = (await this.#store(snapshot, signal)).manifest;
    const packs = [...new Set(snapshots.flatMap(({ manifestDigest: digest }) => this.#stored.get(digest)?.packs ?? []))];
    const at = clock.now();
    const checkpoint: Checkpoint = { task, epoch, at: new Date(at).toISOString(), head, snapshots, manifests, logs: mirror.ranges };
    const number = nextNumber(numbers, epoch);
    const key = places.checkpoint(number);
    const expires = expiresMs === undefined ? null : new Date(at + expiresMs).toISOString();
    const text = await encodeCheckpoint(shelf.sealer, key, checkpoint, { packs, expires });
    const { uri } = await store.put(key, text, 'application/json', signal);
    numbers.push(number);
    const written = { uri, head, fresh: true };
    this.#last = { said, written };
    await this.#tidy(numbers, checkpoint, signal);
    return written;
  }

  /** What earlier workers have stored of this task. */
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
      // Then everything is stored anew, as for a task that has none.
      if (!(error instanceof DurableFailure)) throw error;
    }
    return numbers;
  }

  async #believe(digest: string, manifest: string, signal: AbortSignal): Promise<void> {
    const { shelf } = this.#options;
    const text = await shelf.getManifest(manifest, signal);
    if (!shelf.isCurrentManifest(manifest, text)) return;
    const holders = contentsOf(text).map(({ sha256 }) => shelf.holders(sha256));
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
    await this.#storeContents(contents, signal);
    const packs = new Set(contents.flatMap(({ sha256 }) => shelf.holders(sha256) ?? []));
    const stored = { manifest: await shelf.putManifest(text, signal), packs: [...packs] };
    this.#stored.set(digest, stored);
    return stored;
  }

  async #storeContents(contents: readonly Content[], signal: AbortSignal): Promise<void> {
    const { clock, keeper, shelf } = this.#options;
    const lacking = (): readonly Content[] => contents.filter(({ sha256 }) => shelf.holders(sha256) === undefined);
    if (lacking().length === 0 && clock.monotonic() - this.#refreshedAt < believedMs) return;
    if (clock.monotonic() - this.#refreshedAt >= believedMs) {
      await shelf.refresh(signal);
      this.#refreshedAt = clock.monotonic();
    }
    const whole = new WholeContents();
    const plans = planPacks(lacking());
    let putting = Promise.resolve('');
    try {
      for (const plan of plans) {
        // One pack is read while the one before it is stored.
        const parts = await keeper.exportParts(plan, signal);
        whole.check(plan, parts);
        await putting;
        putting = shelf.put(parts, signal);
        putting.catch(() => undefined); // told by the await below or above
      }
    } finally {
      await putting;
    }
  }

  /** Keeps the newest checkpoints and the files of the log that these name. What cannot be removed now is removed next time. */
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

  /** What a newer assignment has stored is not ours to remove, should we be the ones who were replaced. */
  #outlived(key: string, { head, epoch }: Checkpoint): boolean {
    const range = logRange(key);
    return range !== null && range.to <= head.seq && range.epoch <= epoch;
  }
}

/** The keeper has verified what it sent whole; what came in several parts is verified here. */
class WholeContents {
  #open: { readonly sha256: string; readonly hash: Hash } | null = null;

  /** @throws DurableFailure when the keeper sent other parts than it was asked for, or its copy is damaged */
  check(plan: readonly Part[], parts: Buffer): void {
    let at = 0;
    for (const { bytes, ...part } of partsOf(parts)) {
      const wanted = plan[at++];
      const same = wanted?.sha256 === part.sha256 && wanted.offset === part.offset && wanted.length === part.length;
      if (!same) throw new DurableFailure('Damaged', 'the keeper sent other contents than it was asked for');
      if (part.length === part.size) continue;
      if (part.offset === 0) this.#open = { sha256: part.sha256, hash: createHash('sha256') };
      this.#open?.hash.update(bytes);
      const ended = part.offset + part.length === part.size;
      if (ended && this.#open?.hash.digest('hex') !== part.sha256)
        throw new DurableFailure('Damaged', `object ${part.sha256} of the sandbox is damaged`);
    }
    if (at !== plan.length) throw new DurableFailure('Damaged', 'the keeper sent fewer contents than it was asked for');
  }
}
