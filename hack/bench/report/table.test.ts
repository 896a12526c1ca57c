import { expect, test } from 'vitest';
import { percentile, table } from './table.ts';

test('the ratio is above 1 when ours is better', () => {
  const text = table([{ measure: 'restore', ours: 50, unit: 'ms', peer: { name: 'git', value: 75 } }]);
  expect(text).toContain('| restore | 50.0 ms | git: 75.0 ms | 1.50× |  |');
});

test('percentile is a value of the list', () => {
  const values = [4, 1, 3, 2];
  expect([0, 0.5, 0.51, 0.95, 1].map((share) => percentile(values, share))).toEqual([1, 2, 3, 4, 4]);
  expect(percentile([], 0.5)).toBeNaN();
});
