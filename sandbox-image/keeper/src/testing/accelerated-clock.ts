import { systemClock, type Clock } from '../base/clock.ts';

/** Waits are shorter by a factor, so that a test of a back-off does not last as long as it. The time of day is the real one. */
export function acceleratedClock(factor: number): Clock {
  return {
    now: () => systemClock.now(),
    monotonic: () => systemClock.monotonic(),
    sleep: (ms, signal) => systemClock.sleep(ms / factor, signal),
    after: (ms, run) => systemClock.after(ms / factor, run),
  };
}
