/** For the test and the bench only: how often a design of a rollout errs. Pure; `random` is given. */
import type { Design } from './design.ts';
import { judge } from './judge.ts';

/** What came of many simulated rollouts. */
export interface Simulated {
  readonly promoted: number;
  readonly refused: number;
  /** Tasks of one arm until the decision, on average. */
  readonly meanSamples: number;
}

/**
 * Runs rollouts whose tasks pass at the given rates, both arms with the same number of tasks, each looked at as `design`
 * defines. `random` gives numbers from 0 to 1.
 */
export function simulate(design: Design, canaryRate: number, stableRate: number, rollouts: number, random: () => number): Simulated {
  let promoted = 0;
  let samples = 0;
  for (let rollout = 0; rollout < rollouts; rollout += 1) {
    const { promote, total } = runOne(design, canaryRate, stableRate, random);
    if (promote) promoted += 1;
    samples += total;
  }
  return { promoted, refused: rollouts - promoted, meanSamples: samples / rollouts };
}

function runOne(
  design: Design,
  canaryRate: number,
  stableRate: number,
  random: () => number,
): { readonly promote: boolean; readonly total: number } {
  const [canary, stable] = [
    { passed: 0, total: 0 },
    { passed: 0, total: 0 },
  ];
  for (const look of design.looks) {
    for (; canary.total < 2 * look.samples; canary.total += 1, stable.total += 1) {
      if (random() < canaryRate) canary.passed += 1;
      if (random() < stableRate) stable.passed += 1;
    }
    const { judgement } = judge(design, canary, stable);
    if (judgement !== 'Continue') return { promote: judgement === 'Promote', total: canary.total };
  }
  throw new Error('the last look of a design decides');
}
