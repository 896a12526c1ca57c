import { array, assert, boolean, constantFrom, double, integer, property, record, tuple } from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  auc,
  bootstrap,
  ece,
  mcNemar,
  mean,
  pairedDifference,
  quantile,
  reliability,
  resample,
  scoredInterval,
  seeded,
  wilson,
} from './index.ts';

const scored = array(record({ score: constantFrom(0, 0.1, 0.25, 0.5, 0.75, 0.9, 1), right: boolean() }), { minLength: 1, maxLength: 40 });

describe('wilson', () => {
  test('gives the numbers of the literature', () => {
    // Newcombe 1998, table I: 81 of 263, and 0 of 20.
    expect(wilson(81, 263)).toMatchObject({ low: expect.closeTo(0.2553, 4) as number, high: expect.closeTo(0.3662, 4) as number });
    expect(wilson(0, 20)).toMatchObject({ low: 0, high: expect.closeTo(0.1611, 4) as number });
  });

  test('bounds the shares that a score test does not refuse', () => {
    assert(
      property(integer({ min: 1, max: 60 }), integer({ min: 0, max: 60 }), (trials, some) => {
        const successes = Math.min(some, trials);
        const { value, low, high } = wilson(successes, trials);
        expect(low).toBeGreaterThanOrEqual(-1e-12);
        expect(high).toBeLessThanOrEqual(1 + 1e-12);
        expect(low <= value && value <= high).toBe(true);
        for (let share = 0.005; share < 1; share += 0.01) {
          const refused = Math.abs(value - share) > 1.959_964 * Math.sqrt((share * (1 - share)) / trials);
          if (Math.abs(share - low) > 1e-3 && Math.abs(share - high) > 1e-3) expect(share < low || share > high).toBe(refused);
        }
      }),
    );
  });

  test('is NaN without data and refuses invalid shares', () => {
    expect(wilson(0, 0)).toMatchObject({ low: 0, high: 1 });
    expect(() => wilson(3, 2)).toThrow(/3 of 2 is no share/);
  });
});

describe('mcNemar', () => {
  test('is the sign test over all ways that discordant pairs can fall', () => {
    assert(
      property(array(tuple(boolean(), boolean()), { maxLength: 12 }), (pairs) => {
        const { onlyFirst, onlySecond, p } = mcNemar(pairs);
        const discordant = pairs.filter(([one, other]) => one !== other);
        const gap = Math.abs(onlyFirst - onlySecond);
        let extreme = 0;
        for (let ways = 0; ways < 2 ** discordant.length; ways += 1) {
          const ones = ways.toString(2).replaceAll('0', '').length;
          if (Math.abs(2 * ones - discordant.length) >= gap) extreme += 1;
        }
        expect(p).toBeCloseTo(extreme / 2 ** discordant.length, 10);
      }),
    );
  });

  test('does not overflow', () => {
    const pairs = Array.from({ length: 5000 }, (_, at): [boolean, boolean] => [at % 2 === 0, at % 2 === 1]);
    expect(mcNemar(pairs).p).toBeCloseTo(1, 6);
  });
});

describe('auc', () => {
  test('is the share of pairs in the right order', () => {
    assert(
      property(scored, (items) => {
        const pairs = items
          .filter(({ right }) => right)
          .flatMap((one) => items.filter(({ right }) => !right).map((other) => one.score - other.score));
        const wins = pairs.map((gap) => (gap > 0 ? 1 : gap === 0 ? 0.5 : 0));
        if (pairs.length === 0) expect(auc(items)).toBeNaN();
        else expect(auc(items)).toBeCloseTo(mean(wins), 10);
      }),
    );
  });

  test('refuses a score that is no number', () => {
    expect(() => auc([{ score: Number.NaN, right: true }])).toThrow(/item 0 is NaN/);
  });
});

describe('ece', () => {
  test('is zero for calibrated probabilities and the gap for others', () => {
    const items = Array.from({ length: 1000 }, (_, at) => ({ score: 0.3, right: at % 10 < 3 }));
    expect(ece(items)).toBeCloseTo(0, 10);
    expect(ece(items.map(({ right }) => ({ score: 0.9, right })))).toBeCloseTo(0.6, 10);
  });

  test('never loses an item, and stays between 0 and 1', () => {
    assert(
      property(scored, integer({ min: 1, max: 12 }), (items, bins) => {
        const all = reliability(items, bins);
        expect(all.reduce((sum, { count }) => sum + count, 0)).toBe(items.length);
        expect(Math.max(...all.map(({ count }) => count)) - Math.min(...all.map(({ count }) => count))).toBeLessThanOrEqual(1);
        expect(ece(items, bins)).toBeGreaterThanOrEqual(0);
        expect(ece(items, bins)).toBeLessThanOrEqual(1);
        expect(ece(items, 1)).toBeCloseTo(
          Math.abs(mean(items.map(({ score }) => score)) - mean(items.map(({ right }) => Number(right)))),
          10,
        );
      }),
    );
  });

  test('refuses invalid probabilities', () => {
    expect(() => reliability([{ score: 1.2, right: true }])).toThrow(/1\.2 is no probability/);
  });
});

describe('bootstrap', () => {
  test('covers the mean at about its nominal rate', () => {
    const random = seeded(7);
    let covered = 0;
    for (let round = 0; round < 300; round += 1) {
      const items = Array.from({ length: 40 }, () => random() + random());
      const { low, high } = bootstrap(items, mean, { random, resamples: 300 });
      if (low <= 1 && 1 <= high) covered += 1;
    }
    expect(covered / 300).toBeGreaterThan(0.89);
    expect(covered / 300).toBeLessThan(0.99);
  });

  test('returns a paired difference, second less first', () => {
    const pairs = Array.from({ length: 50 }, (_, at): [number, number] => [at, at - 2]);
    expect(pairedDifference(pairs, { random: seeded(1) })).toEqual({ value: -2, low: -2, high: -2 });
  });

  test('draws whole problems, so that copies of an item make nothing surer', () => {
    const random = seeded(3);
    const once = Array.from({ length: 40 }, (_, at) => ({ score: random(), right: at % 2 === 0, problem: `p${at}` }));
    const often = once.flatMap((item) => Array.from({ length: 10 }, () => ({ ...item })));
    const width = (items: typeof once): number => {
      const { low, high } = scoredInterval(items, auc, { random: seeded(5), resamples: 500 });
      return high - low;
    };
    expect(width(often)).toBeCloseTo(width(once), 6);
  });

  test('gives the same for the same seed', () => {
    expect(resample([1, 2, 3, 4, 5, 6, 7, 8], seeded(9))).toEqual(resample([1, 2, 3, 4, 5, 6, 7, 8], seeded(9)));
    expect(seeded(1)()).not.toBe(seeded(2)());
  });
});

test('a quantile is between its neighbours', () => {
  assert(
    property(
      array(double({ noNaN: true, min: -1e6, max: 1e6 }), { minLength: 1 }),
      double({ noNaN: true, min: 0, max: 1 }),
      (values, share) => {
        const found = quantile(values, share);
        expect(values.filter((value) => value <= found + 1e-6).length / values.length).toBeGreaterThanOrEqual(
          share - 1 / values.length - 1e-9,
        );
        expect(Math.min(...values) <= found + 1e-6 && found <= Math.max(...values) + 1e-6).toBe(true);
      },
    ),
  );
  expect(quantile([4, 1, 3, 2], 0.5)).toBe(2.5);
  expect(quantile([], 0.5)).toBeNaN();
});
