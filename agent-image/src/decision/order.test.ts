import { expect, it } from 'vitest';
import type { Ranked } from '../attempt/ports.ts';
import { ordered } from './opinion.ts';
import { candidate } from './testing/candidates.ts';

const ranked = (name: string, rank: number, score: number, energy: number | null, likelihoodGain?: number): Ranked => ({
  candidate: candidate(name, { rank, score }),
  energy,
  pSuccess: null,
  features: likelihoodGain === undefined ? {} : { likelihoodGain },
});
const names = (ones: readonly Ranked[]): readonly string[] => ordered(ones, false).ranked.map(({ candidate: { operator } }) => operator);

it('orders by energy, ties by the expert', () => {
  expect(names([ranked('a', 1, 0.5, 2), ranked('b', 2, 0.3, -1), ranked('c', 3, 0.2, 2)])).toEqual(['b', 'a', 'c']);
});

it('puts a candidate without energy last', () => {
  expect(names([ranked('a', 1, 0.9, null), ranked('b', 2, 0.1, 5)])).toEqual(['b', 'a']);
});

it("keeps the expert's order without a verifier", () => {
  expect(names([ranked('b', 2, 0.9, null), ranked('a', 1, 0.1, null)])).toEqual(['a', 'b']);
});

it("weighs the expert's order by likelihoods without a verifier, and leaves that to energies with one", () => {
  expect(names([ranked('a', 1, 0.5, null, -3), ranked('b', 2, 0.4, null, 2)])).toEqual(['b', 'a']);
  expect(names([ranked('a', 1, 0.5, 1, -3), ranked('b', 2, 0.4, 2, 2)])).toEqual(['a', 'b']);
});

it('reports the gap of the two best, and none where there is none', () => {
  expect(ordered([ranked('a', 1, 0.5, 2), ranked('b', 2, 0.3, -1)], true).margin).toBe(3);
  expect(ordered([ranked('a', 1, 0.5, null), ranked('b', 2, 0.25, null)], true).margin).toBeCloseTo(Math.LN2);
  expect(ordered([ranked('a', 1, 0.5, 2)], true).margin).toBeNull();
  expect(ordered([ranked('a', 1, 0.5, 2), ranked('b', 2, 0.5, null)], true).margin).toBeNull();
});

it('weighs energies by likelihoods that the verifier does not read', () => {
  const ones = [ranked('a', 1, 0.5, 1, -6), ranked('b', 2, 0.4, 2, 6)];
  expect(ordered(ones, false).ranked[0]?.candidate.operator).toBe('a');
  expect(ordered(ones, true)).toMatchObject({ ranked: [{ candidate: { operator: 'b' } }, {}], margin: expect.closeTo(0.2) as number });
});
