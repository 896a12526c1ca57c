import type { Clock } from '../runtime/clock.ts';
import type { Fence } from '../transport/types.ts';

/**
 * Up while the lease was renewed within the renew deadline, by this process's monotonic clock, counted from *before*
 * the renewal was sent. Others take the lease a lease duration after they saw that renewal, so with durations of 15 and
 * 10 s a leader's fence falls before its successor's rises as long as no clock runs 1.5 times as fast as another.
 */
export class LeaseFence implements Fence {
  readonly #clock: Clock;
  readonly #renewDeadlineMs: number;
  #renewedAt: number | undefined;

  constructor(clock: Clock, renewDeadlineMs: number) {
    this.#clock = clock;
    this.#renewDeadlineMs = renewDeadlineMs;
  }

  remainingMs(): number {
    return this.#renewedAt === undefined ? 0 : this.#renewedAt + this.#renewDeadlineMs - this.#clock.monotonic();
  }

  get up(): boolean {
    return this.remainingMs() > 0;
  }

  /** A renewal that was sent at this time, monotonic ms, succeeded. */
  renewed(sentAt: number): void {
    this.#renewedAt = sentAt;
  }

  lower(): void {
    this.#renewedAt = undefined;
  }
}
