import type { Clock } from '../runtime/clock.ts';

interface Bucket {
  tokens: number;
  /** Monotonic ms. */
  last: number;
}

/** Events of one object: a burst of 25, then one in 300 s; the last 4096 objects are known (client-go tools/record/events_cache.go). */
export class SpamGuard {
  readonly #clock: Clock;
  readonly #burst: number;
  readonly #refillMs: number;
  readonly #most: number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock, burst = 25, refillMs = 300_000, most = 4096) {
    this.#clock = clock;
    this.#burst = burst;
    this.#refillMs = refillMs;
    this.#most = most;
  }

  /** False when this object has used its share up. */
  allow(key: string): boolean {
    const now = this.#clock.monotonic();
    const known = this.#buckets.get(key);
    const tokens = known === undefined ? this.#burst : Math.min(this.#burst, known.tokens + (now - known.last) / this.#refillMs);
    const allowed = tokens >= 1;
    // Set again, so that the Map's order is that of the last use.
    this.#buckets.delete(key);
    this.#buckets.set(key, { tokens: allowed ? tokens - 1 : tokens, last: now });
    if (this.#buckets.size > this.#most) this.#buckets.delete(this.#buckets.keys().next().value ?? key);
    return allowed;
  }
}
