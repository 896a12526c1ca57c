import { KeeperError, isDiskFull } from '../failure.ts';
import { errorFields, type Logger } from '../logger.ts';
import type { EventLog } from '../log/index.ts';
import type { CutJournal, JournalArchive } from './archive.ts';
import { maxJournalBytes } from './journal.ts';
import type { Claim, StoreReserve } from './reserve.ts';
import type { Spill, SpillStore } from './spill.ts';

export interface OutputRoomOptions {
  readonly archive: JournalArchive;
  readonly log: EventLog;
  readonly logger: Logger;
  readonly reserve: StoreReserve;
  readonly spills: SpillStore;
}

const mebibyte = 1024 * 1024;
/** Finished journals may hold this part of the store together, and this much at most. */
const share = 4;
const mostBytes = 1024 * mebibyte;
/** Room that spilled output leaves for journals and the log. */
const marginBytes = 8 * mebibyte;

/**
 * Room for the output of commands in the store. What they may write is bounded before they begin, and the output of old ones
 * gives way to whatever is needed more: new commands, snapshots, notes. The records of the event log stay as they are.
 */
export class OutputRoom {
  readonly #options: OutputRoomOptions;
  /** Bytes that the journals of commands under way may still take. */
  readonly #promised = new Map<string, number>();
  #trimming: Promise<unknown> = Promise.resolve();

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
    void this.#one(() => this.#trim());
  }

  /** Takes what a command writes over the limit of its events; null when nothing was asked for. */
  spill(execId: string, maxBytes: number): Spill | null {
    if (maxBytes === 0) return null;
    const room = async (): Promise<number> => (await this.#left(0)) - marginBytes;
    return this.#options.spills.spill({ execId, maxBytes, room });
  }

  /** Whether there is room for what asks, made by cutting output where it lacks. */
  async ready(claim: Claim): Promise<boolean> {
    const { reserve } = this.#options;
    return (await reserve.ready(claim)) || ((await this.free()) > 0 && (await reserve.ready(claim, 0)));
  }

  /** Cuts the output of finished commands, the oldest first, until so many bytes are free; by default all. Returns what was freed. */
  free(bytes = Number.POSITIVE_INFINITY): Promise<number> {
    return this.#one(async () => {
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

  /** On a volume without any room the reserve holds what replaces the first. */
  async #cutOne(): Promise<CutJournal | null> {
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

  /** Counts what running commands have written twice at worst. */
  async #left(maxAgeMs?: number): Promise<number> {
    const promised = [...this.#promised.values()].reduce((sum, bytes) => sum + bytes, 0);
    return (await this.#options.reserve.freeBytes('Command', maxAgeMs)) - promised;
  }

  #one<T>(job: () => Promise<T>): Promise<T> {
    const mine = this.#trimming.then(job);
    this.#trimming = mine.catch(() => undefined);
    return mine;
  }
}
