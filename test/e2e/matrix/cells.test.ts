import { expect, test } from 'vitest';
import { coveringSet, fullMatrix, taskName } from './cells.ts';
import { phases } from './phases.ts';
import { victims } from './victims.ts';

test('the covering set has each victim and each phase', () => {
  expect(new Set(coveringSet.map(({ victim }) => victim.name))).toEqual(new Set(victims.map(({ name }) => name)));
  expect(new Set(coveringSet.map(({ phase }) => phase.name))).toEqual(new Set(phases.map(({ name }) => name)));
});

test('the full matrix holds the covering set, each cell once', () => {
  const names = fullMatrix.map(taskName);
  expect(new Set(names).size).toBe(names.length);
  expect(names).toEqual(expect.arrayContaining(coveringSet.map(taskName)));
});

test('shared victims are not in the matrix of own ones', () => {
  const shared = victims.filter((victim) => victim.shared).map(({ name }) => name);
  expect(shared).toEqual(['operator', 'API server']);
});
