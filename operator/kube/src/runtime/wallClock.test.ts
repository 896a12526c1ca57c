import { describe, expect, it } from 'vitest';
import { Consistency } from '../consistency/consistency.ts';
import { SpamGuard } from '../events/recorder.ts';
import { WorkQueue } from '../queue/queue.ts';
import { VirtualClock } from '../testing/virtualClock.ts';
import { parseRetryAfter, ApiError } from '../transport/apiError.ts';
import { maxRetries, retryDelay } from '../transport/transport.ts';
import { Backoff, reflectorBackoff, type Clock, deadline } from './clock.ts';

/** Time that passes as another clock's, under a wall clock that was set to another year. */
function jumping(base: VirtualClock): { readonly clock: Clock; readonly set: (wall: number) => void } {
  let wall = base.now();
  return {
    clock: { now: () => wall, monotonic: () => base.monotonic(), after: (ms, run) => base.after(ms, run) },
    set: (to) => void (wall = to),
  };
}

const years = [Date.UTC(1970, 0, 1), Date.UTC(2100, 0, 1)];

describe('a wall clock that is set to another year', () => {
  for (const year of years) {
    it(`moves no wait, no limit and no expiry (${new Date(year).getUTCFullYear()})`, async () => {
      const base = new VirtualClock();
      const { clock, set } = jumping(base);
      const queue = new WorkQueue({ name: 'jump', clock });
      const guard = new SpamGuard(clock, 1);
      const consistency = new Consistency({ clock });
      const backoff = new Backoff(reflectorBackoff, clock, () => 0);
      const limit = deadline(clock, 1000);
      queue.addAfter('a', 1000);
      expect(guard.allow('a')).toBe(true);
      consistency.wrote('a', { name: 'cache', hasSeen: () => false }, { metadata: { name: 'a', resourceVersion: '5' } });
      expect([backoff.next(), backoff.next()]).toEqual([800, 1600]);
      set(year);
      await base.advance(999);
      expect([queue.depth, limit.expired(), guard.allow('a'), consistency.waitMs('a')]).toEqual([0, false, false, 100]);
      expect(backoff.next()).toBe(3200);
      await base.advance(1);
      expect([queue.depth, limit.expired()]).toEqual([1, true]);
      limit.dispose();
    });

    it(`a date in Retry-After is waited for a minute at most (${new Date(year).getUTCFullYear()})`, () => {
      const after = parseRetryAfter('Tue, 01 Jan 2030 00:00:05 GMT', year);
      const error = new ApiError(429, { reason: 'TooManyRequests' }, 'GET /', after);
      const wait = retryDelay(error, 'GET', 0) ?? NaN;
      expect(wait).toBeGreaterThanOrEqual(0);
      expect(wait).toBeLessThanOrEqual(60_000);
      expect(retryDelay(error, 'GET', maxRetries)).toBeUndefined();
    });
  }
});
