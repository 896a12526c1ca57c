import { expect, test } from 'vitest';
import { candidate } from '../../agent-image/src/decision/testing/candidates.ts';
import { triesRows, type RankedRepair } from './triesRows.ts';

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
