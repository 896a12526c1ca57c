/** For the test and the bench only: how often a design of a rollout errs. Pure; `random` is given. */
import type { Design } from '../design.ts';
import { judge, type JudgedBefore } from '../judge.ts';

/** Outcomes of many simulated rollouts. */
export interface Simulated {
  readonly promoted: number;
  readonly refused: number;
  /** Tasks of one arm until the decision, on average. */
  readonly meanSamples: number;
}

/** Tasks of each arm after which it is looked again. */
const lookAfter = 10;

/** Runs rollouts whose tasks pass at the given rates, both arms with the same number of tasks. `random` gives numbers from 0 to 1. */
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
  let before: JudgedBefore = { samples: 0 };
  // At most a quarter of the tasks is variance: the last look is reached.
  const most = design.samplesPerArm / (design.goal.baseRate * (1 - design.goal.baseRate));
  while (canary.total < most) {
    for (let task = 0; task < lookAfter; task += 1) {
      canary.total += 1;
      stable.total += 1;
      if (random() < canaryRate) canary.passed += 1;
      if (random() < stableRate) stable.passed += 1;
    }
    const { judgement, look } = judge(design, canary, stable, before);
    if (judgement !== 'Continue') return { promote: judgement === 'Promote', total: canary.total };
    before = { look, samples: canary.total };
  }
  throw new Error('the last look of a design decides');
}
