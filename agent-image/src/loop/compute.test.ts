import { describe, expect, it } from 'vitest';
import { howMany, type StepSituation } from './compute.ts';

const compute = { entropyFastNats: 2.5, margin: 1.5, riskThreshold: 0.6, kBase: 2, kMax: 8, earlyExitMargin: 1.5 };
const nothing: StepSituation = { entropyNats: null, disagreement: null, risk: null };

describe('proposals of a step', () => {
  it.for<[string, Partial<StepSituation>, number, number]>([
    ['nothing is known', {}, 8, 1],
    ['the model is sure', { entropyNats: 0.2, disagreement: 0, risk: 0.1 }, 8, 1],
    ['the model is unsure', { entropyNats: 3 }, 8, 2],
    ['proposals disagreed', { disagreement: 0.75 }, 8, 2],
    ['one of two disagreed', { disagreement: 0.5 }, 8, 1],
    ['it is risky, and the model is sure', { entropyNats: 0.1, risk: 0.7 }, 8, 4],
    ['it is at the threshold', { risk: 0.6 }, 8, 1],
    ['it is risky, and the profile has few', { risk: 0.9 }, 3, 3],
    ['it is risky and unsure, and the profile has one', { risk: 0.9, entropyNats: 9 }, 1, 1],
  ])('when %s', ([, situation, kMax, expected]) => {
    expect(howMany({ ...nothing, ...situation }, { ...compute, kMax })).toBe(expected);
  });
});
