import { coded } from '@agentfleet/protocol/log';
import { Serial } from '@agentfleet/protocol/serial';
import { asError, deadline, sleep, type Clock, type Log } from '@agentfleet/kube';
import type { KeeperClient } from '@agentfleet/keeper/client';
import { AttemptFailure, retryWhileUnavailable, throwIfSuperseded } from '../base/failure.ts';
import { StoreFailure, type ArtifactStore } from '../store/index.ts';
import { adoptNewest, type Recovered, historyOf, type History } from './adopt.ts';
import { DurableFailure } from './failure.ts';
import { LogMirror } from './logMirror.ts';
import { placesOf, type ActiveTask } from './manifest.ts';
import { noteActive } from './retention.ts';
import type { PackShelf } from './shelf.ts';
import { CheckpointWriter, type Written } from './writer.ts';

/** Options of a task's durable copies. */
export interface DurabilityOptions {
  readonly store: ArtifactStore;
  /** The packs of the pool; rejects when the pool's key is unusable. */
  readonly shelf: () => Promise<PackShelf>;
  readonly task: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly epoch: number;
  readonly checkpointSeconds: number;
  /** Absent: nothing in the store names the pool of the task, and no sweep finds that it is gone or outlived. */
  readonly active?: ActiveTask | undefined;
  /** The report of an earlier worker: its checkpoint, and the log head that it saw. */
  readonly reported: { readonly checkpointURI?: string; readonly auditRoot?: string };
  readonly clock: Clock;
  readonly log: Log;
  readonly onWritten: (written: Written) => void;
  /** Reported when part of an event log that was reported is lost. */
  readonly onGap?: () => void;
}

/** Longest delay of the log's mirror, ms. */
const mirrorMs = 5000;
/** Longest that one checkpoint may take, ms; a sweep waits twenty times as long. */
export const checkpointMs = 180_000;
/** Longest wait of an act for its intent to be durable, ms. */
const intentMs = 60_000;

interface Attached {
  readonly keeper: KeeperClient;
  readonly mirror: LogMirror;
  readonly writer: CheckpointWriter;
}

/** The durable copies of one task under one epoch. Nothing is stored by two calls at a time. */
export class Durability {
  readonly #options: DurabilityOptions;
  #attached: Attached | null = null;
  /** Whether the store has a checkpoint that a new sandbox would go on from. */
  #hasCheckpoint: boolean;
  #isNoted = false;
  readonly #serial = new Serial();

  constructor(options: DurabilityOptions) {
    this.#options = options;
    this.#hasCheckpoint = options.reported.checkpointURI !== undefined;
  }

  /**
   * Attaches the keeper to copy. An empty one of a task that has a checkpoint adopts it first, and its tree is restored
   * and verified. @throws AttemptFailure of class Infrastructure
   */
  async attach(keeper: KeeperClient, signal: AbortSignal): Promise<void> {
    if (this.#attached?.keeper === keeper) return;
    const { store, task, epoch, clock, log, active } = this.#options;
    const shelf = await this.#options.shelf();
    const places = placesOf(task);
    await this.#recover(keeper, shelf, signal);
    const mirror = new LogMirror({ store, sealer: shelf.sealer, places, keeper, epoch });
    const writer = new CheckpointWriter({ store, shelf, places, mirror, keeper, task, epoch, active, clock, log });
    this.#attached = { keeper, mirror, writer };
  }

  /** Mirrors the log and writes checkpoints until the signal; never rejects. A store that is away is asked again and again. */
  async follow(signal: AbortSignal): Promise<void> {
    const { clock, log, checkpointSeconds } = this.#options;
    let due = clock.monotonic() + checkpointSeconds * 1000;
    while (!signal.aborted) {
      await sleep(clock, Math.min(mirrorMs, Math.max(0, due - clock.monotonic())), signal);
      if (signal.aborted) return;
      const full = clock.monotonic() >= due;
      try {
        await (full ? this.checkpoint(signal) : this.#mirror(signal));
        if (full) due = clock.monotonic() + checkpointSeconds * 1000;
      } catch (error) {
        if (!signal.aborted) log.warn('a durable copy could not be made', { full, error: asError(error).message });
        if (full) due = clock.monotonic() + Math.min(checkpointSeconds, 15) * 1000;
      }
    }
  }

  /**
   * Resolves when all that the log holds by now is in the store, and would be found there: a sandbox that is lost before its first
   * checkpoint takes along what an act was begun by, whatever the mirror has of it. @throws AttemptFailure when it cannot be
   */
  async intent(signal: AbortSignal): Promise<void> {
    using limit = deadline(this.#options.clock, intentMs, signal);
    try {
      await (this.#hasCheckpoint ? this.#mirror(limit.signal) : this.#write(limit.signal));
    } catch (error) {
      signal.throwIfAborted();
      throwIfSuperseded(error);
      const why = `an act that cannot be undone was not begun, because its intent could not be stored: ${asError(error).message}`;
      throw new AttemptFailure('Infrastructure', 'IntentNotDurable', `${why}; check the storage of the pool`, { cause: error });
    }
  }

  /** Stores all there is. `expiresMs`: see `CheckpointWriter.write`. Rejects when it could not be stored within some minutes. */
  async checkpoint(signal: AbortSignal, expiresMs?: number): Promise<Written> {
    using limit = deadline(this.#options.clock, checkpointMs, signal);
    return await this.#write(limit.signal, expiresMs);
  }

  async #write(signal: AbortSignal, expiresMs?: number): Promise<Written> {
    const written = await this.#one(async ({ writer }) => {
      await this.#note(signal, expiresMs !== undefined);
      return writer.write(signal, expiresMs);
    });
    this.#hasCheckpoint = true;
    if (written.fresh) this.#options.onWritten(written);
    return written;
  }

  /** Notes once that the task has something in the store, and again at an end: what it keeps is outlived so much later. */
  async #note(signal: AbortSignal, ends: boolean): Promise<void> {
    const { store, active, task } = this.#options;
    if (active === undefined || (this.#isNoted && !ends)) return;
    await noteActive(store, active.pool, task, signal);
    this.#isNoted = true;
  }

  #mirror(signal: AbortSignal): Promise<unknown> {
    return this.#one(({ mirror }) => mirror.catchUp(signal));
  }

  #one<T>(job: (attached: Attached) => Promise<T>): Promise<T> {
    const attached = this.#attached;
    if (attached === null) throw new Error('there is no keeper to copy yet; report this fault');
    return this.#serial.run(() => job(attached));
  }

  async #recover(keeper: KeeperClient, shelf: PackShelf, signal: AbortSignal): Promise<void> {
    const { store, task, clock, log, reported, epoch } = this.#options;
    const retry = { clock, signal };
    if (reported.checkpointURI === undefined && reported.auditRoot === undefined && epoch === 1) return;
    const history = await retryWhileUnavailable(() => historyOf(keeper, reported.auditRoot), retry);
    if (history.state !== 'Fresh') return this.#takeUp(keeper, history, signal);
    let recovered: Recovered | null;
    try {
      recovered = await retryWhileUnavailable(() => adoptNewest({ store, shelf, places: placesOf(task), keeper, log }, signal), retry);
    } catch (error) {
      signal.throwIfAborted();
      throwIfSuperseded(error);
      throw unrecoverable(error);
    }
    if (recovered === null) return this.#beginsAnew(keeper, signal);
    this.#hasCheckpoint = true;
    await this.#restore(keeper, signal);
    await this.#tell(keeper, recovered, signal);
  }

  /** For a sandbox that has a history: completes and records what an earlier worker left open. */
  async #takeUp(
    keeper: KeeperClient,
    { state, unreported, gaps, hasExpected, root, records }: History,
    signal: AbortSignal,
  ): Promise<void> {
    const { reported, clock } = this.#options;
    if (state === 'Adopted') await this.#restore(keeper, signal);
    if (unreported !== null) {
      const { origin, records: adopted, root: until, lastAt } = unreported;
      const facts = { checkpoint: origin, lastAt, records: adopted, root: until };
      await retryWhileUnavailable(() => keeper.note('Recovered', facts), { clock, signal });
    }
    if (reported.auditRoot === undefined || hasExpected || gaps.has(reported.auditRoot)) return;
    await this.#gap(keeper, { expected: reported.auditRoot, found: root, records }, signal);
  }

  /** Restores the tree of the newest snapshot; the caller may restore another one later. */
  async #restore(keeper: KeeperClient, signal: AbortSignal): Promise<void> {
    const newest = (await keeper.snapshots()).at(-1);
    if (newest === undefined) return;
    const report = await retryWhileUnavailable(() => keeper.restore(newest.id), { clock: this.#options.clock, signal });
    if (report.verified && report.manifestDigest === newest.manifestDigest) return;
    throw new AttemptFailure(
      'Infrastructure',
      'CheckpointNotRestored',
      `snapshot ${newest.id} of the checkpoint was restored, but the tree differs; the sandbox is replaced`,
    );
  }

  /** For an empty sandbox, as after the loss of a volume and all copies: known losses are refused or reported. */
  async #beginsAnew(keeper: KeeperClient, signal: AbortSignal): Promise<void> {
    const { reported, clock } = this.#options;
    if (reported.checkpointURI !== undefined) throw missing(reported.checkpointURI);
    if (reported.auditRoot === undefined) return;
    const { root, records } = (await retryWhileUnavailable(() => keeper.info(), { clock, signal })).audit;
    await this.#gap(keeper, { expected: reported.auditRoot, found: root, records }, signal);
  }

  async #tell(keeper: KeeperClient, { key, checkpoint, records, root, passedOver, has }: Recovered, signal: AbortSignal): Promise<void> {
    const { reported, log, clock } = this.#options;
    const facts = { checkpoint: key, writtenAt: checkpoint.at, records, root, passedOver: passedOver.slice(0, 8) };
    log.info('a sandbox went on from a checkpoint', facts);
    await retryWhileUnavailable(() => keeper.note('Recovered', facts), { clock, signal });
    if (reported.auditRoot === undefined || has(reported.auditRoot)) return;
    await this.#gap(keeper, { expected: reported.auditRoot, found: root, records }, signal);
  }

  /** A root that was reported and is in no record, and where the log that is there ends. */
  async #gap(
    keeper: KeeperClient,
    gap: Record<'expected' | 'found', string> & { readonly records: number },
    signal: AbortSignal,
  ): Promise<void> {
    this.#options.log.error('the event log lacks what was reported of it', coded('AF_AUDIT_GAP', { ...gap }));
    this.#options.onGap?.();
    await retryWhileUnavailable(() => keeper.note('AuditGap', { ...gap }), { clock: this.#options.clock, signal });
  }
}

function missing(uri: string): AttemptFailure {
  return new AttemptFailure(
    'Infrastructure',
    'CheckpointMissing',
    `the task has a checkpoint, ${uri}, and the store has none of it; look at the storage of the pool`,
  );
}

function unrecoverable(error: unknown): AttemptFailure {
  if (error instanceof AttemptFailure) return error;
  const { message } = asError(error);
  if (error instanceof DurableFailure) {
    const reason = ({ Missing: 'CheckpointMissing', Damaged: 'CheckpointDamaged', WrongKey: 'CheckpointKeyWrong' } as const)[error.code];
    return new AttemptFailure('Infrastructure', reason, `no checkpoint of the task can be used: ${message}`, { cause: error });
  }
  const reason = error instanceof StoreFailure ? 'CheckpointUnreachable' : 'CheckpointNotAdopted';
  const cure = error instanceof StoreFailure ? error.cure : 'see the log of the keeper';
  return new AttemptFailure(
    'Infrastructure',
    reason,
    `the checkpoint of the task could not be brought into the new sandbox: ${message}; ${cure}`,
    { cause: error },
  );
}
