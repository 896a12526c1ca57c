import type { Clock } from '../base/clock.ts';
import { measureUsage, unlimited } from './quota.ts';
import { rm, statfs, writeFile } from 'node:fs/promises';
import { isDiskFull, KeeperError } from '../base/failure.ts';
import { errorFields, type Log } from '@agentfleet/protocol/log';
import { Serial } from '@agentfleet/protocol/serial';
import type { EventLog } from '../log/index.ts';
import type { JournalArchive } from './archive.ts';
import { maxJournalBytes } from './journal.ts';
import type { Spill, SpillStore } from './spill.ts';

const keepMs = 10_000;

/** Bytes of the store folder on the disk (its segments have holes), by default measured at most every 10 s: any caller that reaches the port may ask. */
export class StoreUsage {
  readonly #folder: string;
  readonly #clock: Clock;
  #measured: Promise<number> | null = null;
  #at = 0;

  constructor(folder: string, clock: Clock) {
    this.#folder = folder;
    this.#clock = clock;
  }

  bytes(maxAgeMs = keepMs): Promise<number> {
    const now = this.#clock.monotonic();
    if (this.#measured === null || now - this.#at >= maxAgeMs) {
      this.#at = now;
      this.#measured = measureUsage([this.#folder], unlimited).then((usage) => usage.diskBytes);
    }
    return this.#measured;
  }
}

const reserveBytes = 512 * 1024;
const mebibyte = 1024 * 1024;

/**
 * Purpose of a request for room in the store. Commands and ordinary snapshots leave room for the snapshot before a
 * rollback, and all leave room for notes: a full store must not prevent a rollback.
 */
type Claim = 'Command' | 'Snapshot' | 'Rollback' | 'Note';

/** Least free bytes for each purpose: below it the journal or the record would not fit. */
const least: Readonly<Record<Claim, number>> = { Command: mebibyte, Snapshot: 0, Rollback: 0, Note: mebibyte / 8 };

/**
 * Space set aside on the store's volume. It is released when the volume is full, so that the end of the running command
 * and its record in the log can still be written. A volume on a disk of the node is full when it has reached its own
 * limit: the kubelet evicts a pod that exceeds it.
 */
export class StoreReserve {
  readonly #file: string;
  readonly #folder: string;
  readonly #usage: StoreUsage;
  readonly #limit: number;
  #held = false;

  constructor(folder: string, usage: StoreUsage, limitBytes: number) {
    this.#folder = folder;
    this.#usage = usage;
    this.#limit = limitBytes;
    this.#file = `${folder}/.reserve`;
  }

  readonly release = async (): Promise<void> => {
    this.#held = false;
    await rm(this.#file, { force: true });
  };

  /** Reserves the space again if possible. @returns whether there is room for the claim */
  async ready(claim: Claim, maxAgeMs?: number): Promise<boolean> {
    if ((await this.freeBytes(claim, maxAgeMs)) < least[claim]) return false;
    if (this.#held) return true;
    try {
      await writeFile(this.#file, Buffer.alloc(reserveBytes, 1), { mode: 0o600 });
      this.#held = true;
      return true;
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      await this.release();
      return claim === 'Note';
    }
  }

  /** Returns the bytes that the store's volume has left for a claim; the usage was measured at most `maxAgeMs` ago. */
  async freeBytes(claim: Claim, maxAgeMs?: number): Promise<number> {
    const { bavail, blocks, bsize } = await statfs(this.#folder);
    const left = Number.isFinite(this.#limit) ? this.#limit - (await this.#usage.bytes(maxAgeMs)) : this.#limit;
    const size = Math.min(this.#limit, blocks * bsize);
    return Math.max(0, Math.min(bavail * bsize, left) - leftFor(claim, size));
  }

  async size(): Promise<number> {
    const { blocks, bsize } = await statfs(this.#folder);
    return Math.min(this.#limit, blocks * bsize);
  }
}

/** Bytes reserved for more important claims; `size`: of the whole store. */
function leftFor(claim: Claim, size: number): number {
  const notes = claim === 'Note' ? 0 : Math.min(8 * mebibyte, size / 16);
  const rollback = claim === 'Note' || claim === 'Rollback' ? 0 : Math.min(256 * mebibyte, size / 8);
  return Math.floor(notes + rollback);
}

interface OutputRoomOptions {
  readonly archive: JournalArchive;
  readonly log: EventLog;
  readonly logger: Log;
  readonly reserve: StoreReserve;
  readonly spills: SpillStore;
}

/** Finished journals may hold this part of the store together, and this much at most. */
const share = 4;
const mostBytes = 1024 * mebibyte;
/** Room that spilled output leaves for journals and the log. */
const marginBytes = 8 * mebibyte;

/**
 * Room for the output of commands in the store. Output is bounded before a command starts, and old output is removed
 * for new commands, snapshots and notes. Records of the event log stay.
 */
export class OutputRoom {
  readonly #options: OutputRoomOptions;
  /** Bytes that the journals of commands under way may still take. */
  readonly #promised = new Map<string, number>();
  readonly #trimming = new Serial();

  constructor(options: OutputRoomOptions) {
    this.#options = options;
  }

  /** Makes room for one more command where it can. @throws KeeperError `AF_STORE_FULL` */
  async admit(): Promise<void> {
    if (await this.#enough()) return;
    await this.free(maxJournalBytes);
    if (await this.#enough(0)) return;
    throw new KeeperError('AF_STORE_FULL', 'the store has no room for the output of a command');
  }

  /** Bytes that the journal of a command may have, until it is {@link ended}. */
  async promise(execId: string): Promise<number> {
    const bytes = Math.min(maxJournalBytes, Math.max(mebibyte / 2, await this.#left()));
    this.#promised.set(execId, bytes);
    return bytes;
  }

  /** A journal takes no more; the oldest give way when all are too large. */
  ended(execId: string, bytes: number): void {
    this.#promised.delete(execId);
    this.#options.archive.finished(execId, bytes);
    void this.#trimming.run(() => this.#trim());
  }

  /** Returns a file for the output over the limit of the command's events; null when no such output was requested. */
  spill(execId: string, maxBytes: number): Spill | null {
    if (maxBytes === 0) return null;
    const room = async (): Promise<number> => (await this.#left(0)) - marginBytes;
    return this.#options.spills.spill({ execId, maxBytes, room });
  }

  /** Returns whether there is room for a claim, after cutting output where it lacks. */
  async ready(claim: Claim): Promise<boolean> {
    const { reserve } = this.#options;
    return (await reserve.ready(claim)) || ((await this.free()) > 0 && (await reserve.ready(claim, 0)));
  }

  /** Cuts the output of finished commands, the oldest first, until `bytes` are free; by default all. Returns the freed bytes. */
  free(bytes = Number.POSITIVE_INFINITY): Promise<number> {
    return this.#trimming.run(async () => {
      const { archive, spills } = this.#options;
      const cut = await this.#cutWhile((freed) => freed < bytes && archive.finishedBytes > 0);
      return cut >= bytes ? cut : cut + (await spills.forget(bytes - cut));
    });
  }

  async #trim(): Promise<void> {
    const { archive, reserve, logger } = this.#options;
    try {
      const most = Math.min(mostBytes, (await reserve.size()) / share);
      await this.#cutWhile(() => archive.finishedBytes > most);
    } catch (error) {
      logger.error('old output could not be cut', errorFields(error));
    }
  }

  async #cutWhile(more: (freed: number) => boolean): Promise<number> {
    let freed = 0;
    while (more(freed)) {
      const cut = await this.#cutOne();
      if (cut === null) break;
      this.#options.log.append('OutputCut', { execId: cut.execId, freedBytes: cut.freedBytes });
      freed += cut.freedBytes;
    }
    return freed;
  }

  /** On a full volume the reserve holds the replacement of the first journal. */
  async #cutOne() {
    const { archive, reserve } = this.#options;
    try {
      return await archive.cutOldest();
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      await reserve.release();
      return archive.cutOldest();
    }
  }

  async #enough(maxAgeMs?: number): Promise<boolean> {
    return (await this.#options.reserve.ready('Command', maxAgeMs)) && (await this.#left(maxAgeMs)) >= mebibyte;
  }

  /** Counts twice what running commands have written, the worst case. */
  async #left(maxAgeMs?: number): Promise<number> {
    const promised = [...this.#promised.values()].reduce((sum, bytes) => sum + bytes, 0);
    return (await this.#options.reserve.freeBytes('Command', maxAgeMs)) - promised;
  }
}
