import { open, rm, statfs } from 'node:fs/promises';
import { isDiskFull } from '../failure.ts';
import type { StoreUsage } from './store-usage.ts';

const reserveBytes = 512 * 1024;
/** Below this no command starts: its journal would have no room. */
const minFreeBytes = 1024 * 1024;

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

  /** Takes the space again if it can. @returns whether a command may start */
  async ready(): Promise<boolean> {
    if ((await this.freeBytes()) < minFreeBytes) return false;
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
      return false;
    }
  }

  /** Bytes that the store's volume still has for us; what it holds was measured at most `maxAgeMs` ago. */
  async freeBytes(maxAgeMs?: number): Promise<number> {
    const { bavail, bsize } = await statfs(this.#folder);
    const left = Number.isFinite(this.#limit) ? this.#limit - (await this.#usage.bytes(maxAgeMs)) : this.#limit;
    return Math.max(0, Math.min(bavail * bsize, left));
  }
}
