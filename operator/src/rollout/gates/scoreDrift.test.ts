import { seededRandom } from '@agentfleet/kube/testing';
import { describe, expect, it } from 'vitest';
import { scoreDriftFinding } from './scoreDrift.ts';
import { simulateScores } from './testing/copies.ts';
import { armWith } from './testing/evidence.ts';

const gate = { bound: 0.2, minSamples: 500 };
const none = { both: 0, onlyFirst: 0, onlySecond: 0, neither: 0 };
const low = [300, 200, 0, 0, 0, 0, 0, 0, 0, 0];
const high = [0, 0, 0, 0, 0, 0, 0, 0, 200, 300];
const copies = (stable: readonly number[], shadow: readonly number[]) => ({
  shadow: { answered: 1, acts: none, ofSucceeded: none, scores: { stable, shadow } },
});
const said = (canary: Parameters<typeof armWith>[0], stable: Parameters<typeof armWith>[0] = {}) =>
  scoreDriftFinding(armWith(canary), armWith(stable), gate);

describe('the gate ScoreDrift', () => {
  it('decides whether tasks of both arms have probabilities of one distribution', () => {
    expect(said({ scores: low }, { scores: low.map((count) => 2 * count) })).toMatchObject({ verdict: 'Pass', samples: 500 });
    expect(said({ scores: high }, { scores: low })).toMatchObject({ verdict: 'Fail', samples: 500 });
    expect(said({ scores: low }, { scores: high }).value).toBeGreaterThan(1);
  });

  it('goes by copies while there are too few tasks, and by tasks as soon as there are enough', () => {
    expect(said(copies(low, low))).toMatchObject({
      verdict: 'Pass',
      samples: 500,
      message: expect.stringContaining('copied acts') as string,
    });
    expect(said(copies(low, high))).toMatchObject({ verdict: 'Fail' });
    expect(said({ ...copies(low, low), scores: [9] }, { scores: [9] })).toMatchObject({ verdict: 'Pass' });
    expect(said({ ...copies(low, low), scores: high }, { scores: low })).toMatchObject({
      verdict: 'Fail',
      message: expect.stringContaining('tasks of each') as string,
    });
  });

  it('does not take for a drift what may be chance', () => {
    const few = { ...gate, minSamples: 20 };
    const [a, b] = [armWith({ scores: [12, 4, 4, 0, 0, 0, 0, 0, 0, 0] }), armWith({ scores: [4, 8, 8, 0, 0, 0, 0, 0, 0, 0] })];
    expect(scoreDriftFinding(a, b, few)).toMatchObject({ verdict: 'Inconclusive' });
  });

  it('over simulated rollouts seldom leads back one of the same distribution, however often it is looked at', () => {
    const strict = { type: 'ScoreDrift', name: 'drift', bound: 0.001, minSamples: 20 } as const;
    const bins = [0.05, 0.1, 0.15, 0.2, 0.2, 0.15, 0.1, 0.05];
    expect(simulateScores(strict, bins, { tasks: 4000, rollouts: 1000 }, seededRandom(1))).toBeLessThan(0.01);
  });

  it.for([
    ['nothing was told', {}, {}],
    ['one arm told too little', { scores: low }, { scores: [499, 0, 0, 0, 0, 0, 0, 0, 0, 0] }],
    ['copies are too few', copies([499, 0, 0, 0, 0, 0, 0, 0, 0, 0], low), {}],
    ['bins are others', { scores: [500] }, { scores: low }],
  ] as const)('never passes where %s', ([, canary, stable]) => {
    expect(said(canary, stable).verdict).toBe('InsufficientData');
  });
});
