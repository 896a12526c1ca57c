import { expect, it } from 'vitest';
import { decideRelaunch } from './watchdog.ts';

it('starts a daemon again at once, the first time', () => {
  expect(decideRelaunch(undefined, 5000)).toEqual({ relaunch: true, next: { count: 1, at: 5000 } });
});

it('waits longer each time, and half a minute at most', () => {
  expect(decideRelaunch({ count: 3, at: 0 }, 3999).relaunch).toBe(false);
  expect(decideRelaunch({ count: 3, at: 0 }, 4000)).toEqual({ relaunch: true, next: { count: 4, at: 4000 } });
  expect(decideRelaunch({ count: 20, at: 0 }, 30_000).relaunch).toBe(true);
});

it('forgets relapses of a daemon that has run long since', () => {
  expect(decideRelaunch({ count: 9, at: 0 }, 120_000)).toEqual({ relaunch: true, next: { count: 1, at: 120_000 } });
});
