import { seededRandom } from '@agentfleet/kube/testing';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  binnedIndex,
  defaultLooks,
  designOf,
  differenceLimit,
  effectiveSamples,
  judge,
  kolmogorovSmirnov,
  normalCdf,
  normalQuantile,
  type Design,
} from './index.ts';
import { simulate } from './testing/simulate.ts';

const goal = { alpha: 0.01, beta: 0.045, margin: 0.03, baseRate: 0.9, looks: defaultLooks };

describe('the normal distribution', () => {
  test('has the published values', () => {
    expect(normalCdf(0)).toBe(0.5);
    expect(normalCdf(1.96)).toBeCloseTo(0.975_002_104_851_78, 12);
    expect(normalCdf(-8) / 6.220_960_574_271_785e-16).toBeCloseTo(1, 9);
    expect(normalQuantile(0.99)).toBeCloseTo(2.326_347_874_040_84, 10);
    expect(normalQuantile(0)).toBe(-Infinity);
  });
});

describe('a group-sequential design', () => {
  let design: Design;
  beforeAll(() => {
    design = designOf(goal);
  });

  test('has O’Brien–Fleming boundaries at first, and meets at the last look', () => {
    expect(design.looks.map(({ fraction }) => fraction)).toEqual([...defaultLooks]);
    expect(design.looks[0]?.promote).toBeGreaterThan(5);
    expect(design.looks[0]?.refuse).toBeLessThan(-2);
    expect(design.looks.at(-1)?.promote).toBe(design.looks.at(-1)?.refuse);
    // Published for five looks at one-sided 0.025 (Lan and DeMets' approximation of O'Brien and Fleming).
    const published = [4.877, 3.357, 2.68, 2.29, 2.031];
    const found = designOf({ ...goal, alpha: 0.025 }).looks.map(({ promote }) => promote);
    for (const [index, boundary] of published.entries()) expect(found[index]).toBeCloseTo(boundary, 2);
    expect(design.looks.at(-1)?.promote).toBeGreaterThan(normalQuantile(0.99));
  });

  test('needs hardly more tasks than one look at the end would, and reports how many smaller margins need', () => {
    const fixed = 2 * (normalQuantile(0.99) + normalQuantile(0.955)) ** 2 * (0.09 / 0.03 ** 2);
    expect(design.samplesPerArm).toBeGreaterThan(fixed);
    expect(design.samplesPerArm).toBeLessThan(1.1 * fixed);
    expect(designOf({ ...goal, margin: 0.01 }).samplesPerArm / design.samplesPerArm).toBeCloseTo(9, 1);
  });

  test('over 10,000 rollouts promotes at most 1 % of canaries that are 3 points worse, and refuses at most 5 % of equal ones', () => {
    const worse = simulate(design, 0.87, 0.9, 10_000, seededRandom(1));
    const equal = simulate(design, 0.9, 0.9, 10_000, seededRandom(2));
    expect(worse.promoted).toBeLessThanOrEqual(100);
    expect(equal.refused).toBeLessThanOrEqual(500);
    expect(equal.meanSamples).toBeLessThan(3000);
    expect(worse.meanSamples).toBeLessThan(equal.meanSamples);
    expect(simulate(design, 0.8, 0.9, 1000, seededRandom(3))).toMatchObject({ promoted: 0 });
  }, 120_000);

  test.each([0.99, 0.95, 0.6, 0.3])(
    'keeps both errors where %d of the tasks pass, which is not what it was planned for',
    (rate) => {
      expect(simulate(design, rate - 0.03, rate, 500, seededRandom(4)).promoted).toBeLessThanOrEqual(10);
      expect(simulate(design, rate, rate, 500, seededRandom(5)).refused).toBeLessThanOrEqual(40);
    },
    120_000,
  );

  test('stops what passes nothing with the first 20 tasks, and what passes half as many with some 50', () => {
    expect(simulate(design, 0, 0.9, 100, seededRandom(6))).toEqual({ promoted: 0, refused: 100, meanSamples: 20 });
    expect(simulate(design, 0, 0.6, 100, seededRandom(6)).meanSamples).toBeLessThan(30);
    expect(simulate(design, 0.5, 0.9, 100, seededRandom(7)).meanSamples).toBeLessThan(60);
  });

  test('decides nothing before its first look, and everything at its last', () => {
    const good = (total: number): { passed: number; total: number } => ({ passed: Math.round(0.9 * total), total });
    expect(judge(design, good(100), good(100))).toMatchObject({ judgement: 'Continue', look: -1, limit: undefined });
    expect(judge(design, good(4000), good(4000)).judgement).toBe('Promote');
    expect(judge(design, { passed: 0, total: 800 }, good(800)).judgement).toBe('Refuse');
    const unclear = { passed: 3480, total: 4000 };
    expect(judge(design, unclear, good(4000), { samples: 4000, look: 3 }).judgement).toBe('Refuse');
    expect(judge(design, unclear, good(4000), { samples: 4000, look: 4 }).judgement).toBe('Continue');
    expect(judge(design, good(0), good(100_000))).toMatchObject({ judgement: 'Continue', look: -1 });
  });
});

describe('proportions', () => {
  test('differ by Newcombe’s limits', () => {
    // Newcombe 1998 (difference of proportions), example (a), method 10: 56/70 − 48/80.
    expect(differenceLimit({ passed: 56, total: 70 }, { passed: 48, total: 80 }, 1.96)).toBeCloseTo(0.0524, 4);
    expect(differenceLimit({ passed: 56, total: 70 }, { passed: 48, total: 80 }, -1.96)).toBeCloseTo(0.3339, 4);
    expect(differenceLimit({ passed: 0, total: 0 }, { passed: 1, total: 1 }, 1.96)).toBe(-1);
  });

  test('the smaller arm decides how much is known', () => {
    expect(effectiveSamples({ passed: 0, total: 100 }, { passed: 0, total: 100 })).toBe(50);
    expect(effectiveSamples({ passed: 0, total: 100 }, { passed: 0, total: 1e9 })).toBeCloseTo(100, 3);
    expect(effectiveSamples({ passed: 0, total: 0 }, { passed: 0, total: 5 })).toBe(0);
  });
});

describe('distributions', () => {
  const numbers = (count: number, from: number, seed: number): readonly number[] => {
    const random = seededRandom(seed);
    return Array.from({ length: count }, () => from + random());
  };

  test('that are one are seldom found to differ, and shifted ones always', () => {
    const same = Array.from({ length: 200 }, (_, seed) => kolmogorovSmirnov(numbers(300, 0, seed), numbers(300, 0, 1000 + seed))?.p ?? 0);
    expect(same.filter((p) => p < 0.05).length).toBeLessThan(20);
    expect(kolmogorovSmirnov(numbers(300, 0, 1), numbers(300, 0.2, 2))?.p).toBeLessThan(0.001);
    expect(kolmogorovSmirnov([1, 2, 2, 3], [1, 2, 2, 3])).toEqual({ distance: 0, p: 1 });
    expect(kolmogorovSmirnov([1], [])).toBeUndefined();
    expect(kolmogorovSmirnov([1], [Number.NaN])).toBeUndefined();
  });

  test("drift of counts is as of Siddiqi's credit scorecards, and beyond chance in one of a thousand at most", () => {
    const z999 = normalQuantile(0.999);
    // Shares 20 % … against 30 % …: Σ (a − e) ln(a ∕ e) by hand; half a count in a million weighs nothing.
    const found = binnedIndex([200_000, 300_000, 500_000], [300_000, 300_000, 400_000], z999);
    expect(found?.value).toBeCloseTo(0.1 * Math.log(1.5) - 0.1 * Math.log(0.8), 5);
    expect(binnedIndex([1, 2], [1, 2, 3], z999)).toBeUndefined();
    expect(binnedIndex([0, 0], [1, 2], z999)).toBeUndefined();
    const binsOf = (count: number, seed: number): readonly number[] => {
      const bins = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
      for (const x of numbers(count, 0, seed)) bins[Math.floor(10 * x ** 2)] = (bins[Math.floor(10 * x ** 2)] ?? 0) + 1;
      return bins;
    };
    const pairs = Array.from({ length: 2000 }, (_, seed) => binnedIndex(binsOf(500, seed), binsOf(300, 5000 + seed), z999));
    expect(pairs.filter((pair) => (pair?.value ?? 1) > (pair?.chance ?? 0)).length).toBeLessThanOrEqual(8);
    expect(pairs.filter((pair) => (pair?.value ?? 0) > (pair?.chance ?? 1) / 2).length).toBeGreaterThan(20);
    // A bin without samples is no freedom.
    expect(binnedIndex([9, 1, 0, 0, 0], [1, 9, 0, 0, 0], z999)?.chance).toBe(binnedIndex([9, 1], [1, 9], z999)?.chance);
  });
});
