import type { Clock } from '../runtime/clock.ts';

/** How long a key that failed must wait. */
export interface RateLimiter {
  /** Counts a failure; ms to wait. */
  when(key: string): number;
  /** The key is well again. */
  forget(key: string): void;
  /** Failures since the last `forget`. */
  retries(key: string): number;
}

/** base·2ⁿ up to a cap: client-go's ItemExponentialFailureRateLimiter, 5 ms to 1000 s. */
export function exponentialLimiter(baseMs = 5, capMs = 1_000_000): RateLimiter {
  const failures = new Map<string, number>();
  return {
    when: (key) => {
      const count = failures.get(key) ?? 0;
      failures.set(key, count + 1);
      return Math.min(capMs, baseMs * 2 ** Math.min(count, 1000));
    },
    forget: (key) => void failures.delete(key),
    retries: (key) => failures.get(key) ?? 0,
  };
}

/** All keys together at a rate: client-go's BucketRateLimiter, 10 per second with a burst of 100. */
export function bucketLimiter(clock: Clock, perSecond = 10, burst = 100): RateLimiter {
  let tokens = burst;
  let last = clock.monotonic();
  return {
    when: () => {
      const now = clock.monotonic();
      tokens = Math.min(burst, tokens + ((now - last) / 1000) * perSecond);
      last = now;
      // A negative balance is a reservation: who comes later waits behind who came first.
      tokens -= 1;
      return tokens >= 0 ? 0 : (-tokens / perSecond) * 1000;
    },
    forget: () => {},
    retries: () => 0,
  };
}
