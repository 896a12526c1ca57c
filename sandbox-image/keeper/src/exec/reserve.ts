import { open, rm, statfs } from 'node:fs/promises';
import { isDiskFull } from '../failure.ts';
import type { StoreUsage } from './store-usage.ts';

const reserveBytes = 512 * 1024;
const mebibyte = 1024 * 1024;

/**
 * Who asks for room in the store. Commands and ordinary snapshots leave what the snapshot before a rollback needs, and all
 * leave what notes need: a full store must not keep anybody from going back.
 */
export type Claim = 'Command' | 'Snapshot' | 'Rollback' | 'Note';

/** Below this nothing of a kind begins, bytes: the journal or the record would have no room. */
const least: Readonly<Record<Claim, number>> = { Command: mebibyte, Snapshot: 0, Rollback: 0, Note: mebibyte / 8 };

/**
 * Space set aside on the store's volume. When the volume is full it is given up, so that the end
 * of the running command and its record in the log can still be written. A volume on a disk of the
 * node is full when it has reached its own limit: the kubelet evicts what grows beyond it.
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

  /** Gives the space up. */
  readonly release = async (): Promise<void> => {
    this.#held = false;
    await rm(this.#file, { force: true });
  };

  /** Takes the space again if it can. @returns whether there is room for what asks */
  async ready(claim: Claim, maxAgeMs?: number): Promise<boolean> {
    if ((await this.freeBytes(claim, maxAgeMs)) < least[claim]) return false;
    if (this.#held) return true;
    try {
      const handle = await open(this.#file, 'w', 0o600);
      try {
        await handle.writeFile(Buffer.alloc(reserveBytes, 1));
      } finally {
        await handle.close();
      }
      this.#held = true;
      return true;
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      await this.release();
      return claim === 'Note';
    }
  }

  /** Bytes that the store's volume still has for who asks; what it holds was measured at most `maxAgeMs` ago. */
  async freeBytes(claim: Claim, maxAgeMs?: number): Promise<number> {
    const { bavail, blocks, bsize } = await statfs(this.#folder);
    const left = Number.isFinite(this.#limit) ? this.#limit - (await this.#usage.bytes(maxAgeMs)) : this.#limit;
    const size = Math.min(this.#limit, blocks * bsize);
    return Math.max(0, Math.min(bavail * bsize, left) - leftFor(claim, size));
  }

  /** Bytes that the store may hold in all. */
  async size(): Promise<number> {
    const { blocks, bsize } = await statfs(this.#folder);
    return Math.min(this.#limit, blocks * bsize);
  }
}

/** What is left for those that need it more than who asks, bytes; `size`: of the whole store. */
function leftFor(claim: Claim, size: number): number {
  const notes = claim === 'Note' ? 0 : Math.min(8 * mebibyte, size / 16);
  const rollback = claim === 'Note' || claim === 'Rollback' ? 0 : Math.min(256 * mebibyte, size / 8);
  return Math.floor(notes + rollback);
}
