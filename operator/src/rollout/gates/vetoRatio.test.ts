import { seededRandom } from '@agentfleet/kube/testing';
import { describe, expect, test } from 'vitest';
import { evaluateGate, type GateResult, type Verdict } from './index.ts';
import { armWith } from './testing/evidence.ts';
import { simulateVetoes } from './testing/vetoes.ts';

type Acts = readonly [vetoed: number, total: number];

const look = ([mine, total]: Acts, [base, all]: Acts, bound = 1.1, previous?: GateResult): GateResult => {
  const arms = [armWith({ acts: { vetoed: mine, total } }), armWith({ acts: { vetoed: base, total: all } })] as const;
  return evaluateGate({ type: 'VetoRatio', name: 'v', bound, minSamples: 200 }, ...arms, previous);
};

describe('vetoes beside those of the stable revision', () => {
  test.each<readonly [Acts, Acts, number, Verdict]>([
    [[1, 199], [9, 400], 1.1, 'InsufficientData'],
    // One veto is none too many, whatever the other arm had.
    [[1, 200], [0, 400], 1.1, 'Inconclusive'],
    [[0, 200], [0, 400], 1.1, 'Pass'],
    [[50, 1000], [50, 1000], 1.1, 'Pass'],
    [[54, 1000], [50, 1000], 1.1, 'Inconclusive'],
    [[200, 1000], [50, 1000], 1.1, 'Fail'],
    [[5400, 100_000], [10_000, 200_000], 1.1, 'Inconclusive'],
    [[5200, 100_000], [10_000, 200_000], 1.1, 'Pass'],
    // As many as the stable revision are too many where fewer are asked for.
    [[6, 200], [6, 200], 0.5, 'Inconclusive'],
    [[50, 1000], [50, 1000], 0.5, 'Fail'],
    [[5000, 100_000], [10_000, 200_000], 0.5, 'Fail'],
    [[0, 10_000], [0, 10_000], 0.5, 'Inconclusive'],
    [[2000, 100_000], [10_000, 200_000], 0.5, 'Pass'],
  ])('%j beside %j, at most %d times: %s', (mine, base, bound, verdict) => {
    expect(look(mine, base, bound).verdict).toBe(verdict);
  });

  test('lead back at looks, each time that the acts have doubled', () => {
    const first = look([10, 200], [20, 400]);
    expect(first).toMatchObject({ verdict: 'Pass', look: 0 });
    const bad = [28, 390] as const;
    expect(look(bad, [20, 800], 1.1, first)).toMatchObject({ verdict: 'Inconclusive', look: 0 });
    expect(look([28, 400], [20, 800], 1.1, first)).toMatchObject({ verdict: 'Fail', look: 1 });
    // What was said by another bound is no look of this one.
    expect(look(bad, [20, 800], 1.2, first)).toMatchObject({ verdict: 'Fail', look: 0 });
  });

  test('of 1000 equal revisions lead back at most 45, and of those with twice as many most', () => {
    for (const rate of [0.005, 0.05])
      expect(simulateVetoes({ stable: rate, canary: rate }, 500, seededRandom(3)).refused).toBeLessThanOrEqual(0.045);
    expect(simulateVetoes({ stable: 0.05, canary: 0.1 }, 100, seededRandom(4)).refused).toBe(1);
  }, 60_000);
});
