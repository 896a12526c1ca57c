import { describe, expect, it } from 'vitest';
import { priorBudget, weighedShare } from './prior.ts';

const four = [0.25, 0.25, 0.25, 0.25];

describe('asking for likelihoods', () => {
  it.for([
    ['before the first trial', { shares: four, trialSeconds: null, millisPerCandidate: 10 }, 0],
    ['for a single candidate', { shares: [1], trialSeconds: 60, millisPerCandidate: 10 }, 0],
    ['when trials are quick', { shares: four, trialSeconds: 0.05, millisPerCandidate: 10 }, 0],
    ['when it costs more than it saves', { shares: four, trialSeconds: 1, millisPerCandidate: 188 }, 0],
    ['when the right one is hardly among them', { shares: [0.001, 0.001], trialSeconds: 10, millisPerCandidate: 10 }, 0],
    // (0 + 1 + 2 + 3) · 0.25 / 2 = 0.75 trials of one second
    ['when it saves more than it costs', { shares: four, trialSeconds: 1, millisPerCandidate: 187 }, 750],
    ['to learn the price, for what it may save', { shares: four, trialSeconds: 1, millisPerCandidate: null }, 750],
  ] as const)('%s', ([, question, budget]) => {
    expect(priorBudget(question)).toBe(budget);
  });

  it('weighs shares by gains, within bounds', () => {
    expect(weighedShare(0.2, 1)).toBeGreaterThan(weighedShare(0.21, 0));
    expect(weighedShare(0.1, 2)).toBeLessThan(weighedShare(0.2, undefined));
    expect(weighedShare(0.1, 1e9)).toBe(weighedShare(0.1, 6));
    expect(weighedShare(0, undefined)).toBeGreaterThan(Number.NEGATIVE_INFINITY);
  });
});
