import type { Clock } from '@agentfleet/kube';

/** Failures in a row after which a server is left out, and for how long, ms. */
const failuresToOpen = 2;
const openMs = 10_000;

/**
 * Leaves out servers that failed twice in a row, so that a dead one costs two waits and not one per step. When the time is
 * over one call finds out: another failure leaves it out again.
 */
export class Circuit {
  readonly #clock: Clock;
  readonly #states = new Map<string, { readonly failures: number; readonly since: number; readonly why: string }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Why a server is left out now; null when it may be asked. */
  leftOut(key: string): string | null {
    const state = this.#states.get(key);
    if (state === undefined || state.failures < failuresToOpen) return null;
    return this.#clock.monotonic() - state.since < openMs ? state.why : null;
  }

  answered(key: string): void {
    this.#states.delete(key);
  }

  failed(key: string, why: string): void {
    this.#states.set(key, { failures: (this.#states.get(key)?.failures ?? 0) + 1, since: this.#clock.monotonic(), why });
  }
}
