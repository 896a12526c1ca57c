import { expect, test } from 'vitest';
import { candidate } from '../../agent-image/src/decision/testing/candidates.ts';
import { inRounds, triesByChance, triesIn, triesRows, type RankedRepair } from './triesRows.ts';

/** A bug whose proposals have these energies; the one at `right` passes. */
function bug(energies: readonly number[], right: number): RankedRepair {
  const candidates = energies.map((_, at) => candidate(`c${at}`, { rank: at + 1 }));
  const passed = energies.map((_, at) => at === right);
  const context = { files: [], failing: [], suspicion: () => null, trialSeconds: null };
  const known = new Map(candidates.map(({ id }, at) => [id, energies[at] ?? 0]));
  return { repair: { language: 'L', candidates, passed, context }, energies: known };
}

test('the same proposals are compared in each order, bugs that nothing repairs are left out', () => {
  const rows = triesRows('L', [bug([3, 2, 1], 2), bug([1, 2, 3], 1), bug([1, 2], 9)]);
  expect(rows.map(({ ours, peer }) => [ours, peer?.value])).toEqual([
    [2.5, 2],
    [1.5, 2.5],
    [1.5, 2.5],
  ]);
  expect(rows[0]?.note).toContain('2 of 3 held-out bugs');
  expect(rows[1]?.note).toBe('fewer for 1, as many for 1, more for 0');
});

test('a round of eight cannot put the ninth before the first', () => {
  const [, all, rounds] = triesRows('L', [bug([9, 8, 7, 6, 5, 4, 3, 2, 1], 8)]);
  expect([all?.ours, rounds?.ours]).toEqual([1, 9]);
});

/** All orders of a list. */
function orders<T>(list: readonly T[]): readonly (readonly T[])[] {
  if (list.length === 0) return [[]];
  return list.flatMap((first, at) => orders(list.toSpliced(at, 1)).map((rest) => [first, ...rest]));
}

test('tries count from 1, and none is no number', () => {
  expect([triesIn([true]), triesIn([false, false, true, true]), triesIn([false])]).toEqual([1, 3, undefined]);
  expect(triesByChance([false])).toBeUndefined();
});

test('chance is the mean over all orders', () => {
  const list = [true, false, true, false, false];
  const all = orders(list).map((order) => triesIn(order) ?? 0);
  expect(triesByChance(list)).toBeCloseTo(all.reduce((sum, one) => sum + one, 0) / all.length, 12);
});

test('rounds are ordered each by itself', () => {
  const sorted = (some: readonly number[]): readonly number[] => some.toSorted((a, b) => a - b);
  expect(inRounds([5, 4, 1, 3, 2, 0], 4, sorted)).toEqual([1, 3, 4, 5, 0, 2]);
});
