// sandbox-image/keeper, base: clock of the keeper and RFC 3339 timestamps. May import protocol alone.
import { setTimeout as delay } from 'node:timers/promises';

/** Time as the keeper sees it. Injected, so that tests own it. */
export interface Clock {
  /** Wall time, milliseconds since 1970: for what others read, never for measuring. */
  now(): number;
  /** Milliseconds, with fractions, that no change of the wall clock moves: for every deadline, age and duration. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with an `AbortError` when the signal fires first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `run` once after `ms`, unless the returned function is called before. */
  after(ms: number, run: () => void): () => void;
}

/** The machine's clock. Its timers never keep the process alive by themselves. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    await delay(ms, undefined, signal === undefined ? { ref: false } : { signal, ref: false });
  },
  after: (ms, run) => {
    const timer = setTimeout(run, ms).unref();
    return () => clearTimeout(timer);
  },
};

/** RFC 3339 with milliseconds, UTC. */
export function timestamp(clock: Clock): string {
  return new Date(clock.now()).toISOString();
}
