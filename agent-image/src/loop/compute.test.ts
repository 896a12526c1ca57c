import { describe, expect, it } from 'vitest';
import { howMany, type MoreReason, type StepSituation } from './compute.ts';

const compute = { entropyFastNats: 2.5, margin: 1.5, riskThreshold: 0.6, kBase: 2, kMax: 8, earlyExitMargin: 1.5 };
const nothing: StepSituation = { entropyNats: null, refused: false, risk: null };

describe('proposals of a step', () => {
  it.for<[string, Partial<StepSituation>, number, number, MoreReason | null]>([
    ['nothing is known', {}, 8, 1, null],
    ['the model is sure', { entropyNats: 0.2, risk: 0.1 }, 8, 1, null],
    ['the model is unsure', { entropyNats: 3 }, 8, 2, 'Entropy'],
    ['scores would refuse it', { refused: true }, 8, 2, 'Refused'],
    ['the planner calls it risky, and nothing else does', { entropyNats: 0.1, risk: 0.99 }, 8, 1, null],
    ['it is risky and unsure', { entropyNats: 3, risk: 0.7 }, 8, 4, 'Entropy'],
    ['it is risky and scores would refuse it', { refused: true, risk: 0.7 }, 8, 4, 'Refused'],
    ['it is unsure and at the threshold', { entropyNats: 3, risk: 0.6 }, 8, 2, 'Entropy'],
    ['it is risky and unsure, and the profile has few', { entropyNats: 3, risk: 0.9 }, 3, 3, 'Entropy'],
    ['it is risky and unsure, and the profile has one', { entropyNats: 9, risk: 0.9 }, 1, 1, 'Entropy'],
  ])('when %s', ([, situation, kMax, n, why]) => {
    expect(howMany({ ...nothing, ...situation }, { ...compute, kMax })).toEqual({ n, why });
  });
});
