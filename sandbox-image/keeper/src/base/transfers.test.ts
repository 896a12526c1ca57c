import { expect, it, vi } from 'vitest';
import { Transfers } from './gate.ts';

it('cuts off callers of older epochs, those that come late included, and waits until each has given the gate back', async () => {
  const transfers = new Transfers();
  const [old, current, late, release] = [vi.fn(), vi.fn(), vi.fn(), vi.fn()];
  const held = transfers.begin(1, release, old);
  transfers.begin(2, release, current);
  const superseded = transfers.supersede(2).then(() => release.mock.calls.length);
  held();
  expect(await superseded).toBe(1);
  transfers.begin(1, release, late);
  expect([old, current, late].map(({ mock }) => mock.calls.length)).toEqual([1, 0, 1]);
});
