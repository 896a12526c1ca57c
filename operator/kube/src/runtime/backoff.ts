import type { Clock } from './clock.ts';

/** A random number in [0, 1). */
export type Random = () => number;

export interface BackoffOptions {
  readonly baseMs: number;
  readonly factor: number;
  readonly capMs: number;
  /** A delay is drawn from [d, d·(1 + jitter)). */
  readonly jitter: number;
  /** Starts again at the base after this long without a failure. */
  readonly resetMs: number;
}

/** Of client-go's reflector: 800 ms ×2 to 30 s, jitter 1.0, reset after 2 min (tools/cache/reflector.go). */
export const reflectorBackoff: BackoffOptions = { baseMs: 800, factor: 2, capMs: 30_000, jitter: 1, resetMs: 120_000 };

/** After a connection broke and the server answers again: short, because one request looked for it on behalf of all. */
export const reconnectBackoff: BackoffOptions = { baseMs: 250, factor: 2, capMs: 1000, jitter: 1, resetMs: 120_000 };

/** Exponential delays with jitter that forget old failures. */
export class Backoff {
  readonly #options: BackoffOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  #step = 0;
  #lastFailure = -Infinity;

  constructor(options: BackoffOptions, clock: Clock, random: Random) {
    this.#options = options;
    this.#clock = clock;
    this.#random = random;
  }

  /** What failed is well: the next failure is the first one. */
  reset(): void {
    this.#step = 0;
  }

  /** Records a failure; ms to wait before the next try. */
  next(): number {
    const { baseMs, factor, capMs, jitter, resetMs } = this.#options;
    const now = this.#clock.monotonic();
    if (now - this.#lastFailure > resetMs) this.#step = 0;
    this.#lastFailure = now;
    const delay = Math.min(capMs, baseMs * factor ** Math.min(this.#step, 64));
    this.#step += 1;
    return delay * (1 + this.#random() * jitter);
  }
}
