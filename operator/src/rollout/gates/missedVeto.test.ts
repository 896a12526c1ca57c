import { seededRandom } from '@agentfleet/kube/testing';
import { expect, it } from 'vitest';
import { missedVetoFinding } from './missedVeto.ts';
import { armWith } from './testing/evidence.ts';
import { simulateMissed } from './testing/missed.ts';

const gate = { bound: 0.02, minSamples: 200 };
const said = (canary: readonly [number, number], stable: readonly [number, number]) => {
  const [mine, base] = [canary, stable].map(([missed, total]) => armWith({ passedActs: { missed, total } }));
  return missedVetoFinding(mine ?? armWith(), base ?? armWith(), gate);
};

it.for<[string, readonly [number, number], readonly [number, number], string]>([
  ['as rarely, in many tasks', [300, 3000], [600, 6000], 'Pass'],
  ['more rarely, in few', [0, 300], [60, 600], 'Pass'],
  ['as rarely, in too few to know', [20, 200], [40, 400], 'Inconclusive'],
  ['more often, which many tasks show', [450, 3000], [600, 6000], 'Fail'],
  ['far more often', [60, 200], [40, 400], 'Fail'],
  ['more often, which may be chance', [30, 200], [40, 400], 'Inconclusive'],
  ["by nobody's knowledge: no task", [0, 0], [40, 400], 'InsufficientData'],
  ["by nobody's knowledge: too few of the stable revision", [0, 4000], [0, 199], 'InsufficientData'],
])('acts that a verifier let pass go wrong %s', ([, canary, stable, verdict]) => {
  expect(said(canary, stable).verdict).toBe(verdict);
});

it('reports both shares, and how many more there may be', () => {
  expect(said([300, 3000], [600, 6000])).toMatchObject({ value: 0.1, baseline: 0.1, samples: 3000 });
  expect(said([300, 3000], [600, 6000]).message).toMatch(
    /^300 of 3000 tasks went wrong .* at most 0\.01\d\d more, and may be 0\.02; look 4, the next with 3200 of each$/,
  );
});

it('over simulated rollouts seldom refuses one that misses as much, and promotes none that misses twice the margin more and refuses four times', () => {
  const equal = simulateMissed({ stable: 0.1, canary: 0.1 }, 200, seededRandom(1));
  expect(equal.refused).toBeLessThan(0.06);
  expect(equal.promoted).toBeGreaterThan(0.8);
  expect(simulateMissed({ stable: 0.1, canary: 0.12 }, 200, seededRandom(2)).promoted).toBeLessThan(0.1);
  expect(simulateMissed({ stable: 0.1, canary: 0.14 }, 200, seededRandom(3)).promoted).toBe(0);
  expect(simulateMissed({ stable: 0.1, canary: 0.18 }, 200, seededRandom(3)).refused).toBeGreaterThan(0.85);
});
