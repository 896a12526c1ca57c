import type { Clock, Timer } from '../runtime/clock.ts';

interface Pending {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** Time that passes only when a test advances it. */
export class VirtualClock implements Clock {
  readonly #start: number;
  #now = 0;
  #order = 0;
  #pending: Pending[] = [];

  constructor(startMs = Date.UTC(2030, 0, 1)) {
    this.#start = startMs;
  }

  now(): number {
    return this.#start + this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): Timer {
    this.#order += 1;
    const pending = { at: this.#now + Math.max(0, ms), order: this.#order, run };
    this.#pending.push(pending);
    return { cancel: () => (this.#pending = this.#pending.filter((other) => other !== pending)) };
  }

  /** Timers that are set. */
  get timers(): number {
    return this.#pending.length;
  }

  /** Lets time pass, timer by timer; after each one everything that it set off runs as far as it can. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await settle();
    for (let next = this.#next(until); next !== undefined; next = this.#next(until)) {
      this.#pending = this.#pending.filter((other) => other !== next);
      this.#now = Math.max(this.#now, next.at);
      next.run();
      await settle();
    }
    this.#now = until;
  }

  #next(until: number): Pending | undefined {
    let first: Pending | undefined;
    for (const one of this.#pending) {
      if (one.at > until) continue;
      if (first === undefined || one.at < first.at || (one.at === first.at && one.order < first.order)) first = one;
    }
    return first;
  }
}

/** Runs all promise reactions that are due; I/O is not waited for. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
  await new Promise((resolve) => setImmediate(resolve));
}
