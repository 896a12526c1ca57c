import type { ObjectKey } from '../api/object.ts';
import type { Clock } from '../runtime/clock.ts';

/**
 * The least time between the beginnings of two reconciles of one object: an object that somebody rewrites in a loop,
 * or that two controllers fight about, costs a bounded share of the workers (Cluster API, ReconcilerRateLimiting).
 */
export class ReconcileFloor {
  readonly #clock: Clock;
  readonly #floorMs: number;
  /** Monotonic ms, the oldest first; an object that is past its floor is not kept. */
  readonly #began = new Map<ObjectKey, number>();

  constructor(clock: Clock, floorMs: number) {
    this.#clock = clock;
    this.#floorMs = floorMs;
  }

  /** Ms to wait before this object may be reconciled, or 0. */
  waitMs(key: ObjectKey): number {
    const began = this.#began.get(key);
    return began === undefined ? 0 : Math.max(0, began + this.#floorMs - this.#clock.monotonic());
  }

  /** A reconcile begins now. */
  begins(key: ObjectKey): void {
    if (this.#floorMs <= 0) return;
    const now = this.#clock.monotonic();
    this.#began.delete(key);
    this.#began.set(key, now);
    for (const [old, began] of this.#began) {
      if (began + this.#floorMs > now) break;
      this.#began.delete(old);
    }
  }

  /** Objects that are remembered. */
  get size(): number {
    return this.#began.size;
  }
}
