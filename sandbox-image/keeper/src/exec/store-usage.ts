import type { Clock } from '../clock.ts';
import { measureUsage, unlimited } from './quota.ts';

const keepMs = 10_000;

/** Bytes in the store folder, by default measured at most every 10 s: whoever reaches the port may ask. */
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
    const now = this.#clock.now();
    if (this.#measured === null || now - this.#at >= maxAgeMs) {
      this.#at = now;
      this.#measured = measureUsage([this.#folder], unlimited).then((usage) => usage.bytes);
    }
    return this.#measured;
  }
}
