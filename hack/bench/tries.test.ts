import { expect, test } from 'vitest';
import { inRounds, triesByChance, triesIn } from './triesRows.ts';

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
