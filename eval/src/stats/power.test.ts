import { describe, expect, test } from 'vitest';
import { cleanTrials, detectable, mcNemar, mcNemarPower, seeded, wilson } from './index.ts';

describe('the power of the exact McNemar test', () => {
  test.each([
    [40, 0.2, 0.2],
    [40, 0.3, 0.1],
    [100, 0.2, 0.15],
    [12, 0.5, 0],
  ])('is that of drawn pairs: %d of which %d differ, by %d', (pairs, discordant, difference) => {
    const random = seeded(pairs);
    const runs = 4000;
    let found = 0;
    for (let run = 0; run < runs; run += 1) {
      const drawn = Array.from({ length: pairs }, (): [boolean, boolean] => {
        const differs = random() < discordant;
        const second = random() < (1 + difference / discordant) / 2;
        return differs ? [!second, second] : [true, true];
      });
      if (mcNemar(drawn).p < 0.05) found += 1;
    }
    const bounds = wilson(found, runs, 4);
    const power = mcNemarPower(pairs, discordant, difference);
    expect(power).toBeGreaterThanOrEqual(bounds.low);
    expect(power).toBeLessThanOrEqual(bounds.high);
  });

  test('returns the difference that a comparison could detect', () => {
    expect(detectable(8, 0)).toBeGreaterThan(0.8);
    expect(detectable(40, 0)).toBeLessThan(0.22);
    expect(detectable(40, 0)).toBeGreaterThan(0.16);
    expect(mcNemarPower(40, detectable(40, 0), detectable(40, 0))).toBeGreaterThanOrEqual(0.8);
    expect(detectable(40, 20)).toBeGreaterThan(detectable(40, 0));
    expect(detectable(300, 30)).toBeLessThan(0.07);
  });

  test('reports that too few pairs detect nothing', () => {
    expect(detectable(0, 0)).toBeNaN();
    expect(detectable(5, 0)).toBeNaN();
    expect(detectable(5, 5)).toBeNaN();
  });
});

test('so many trials without a failure show that it is rare', () => {
  const trials = cleanTrials(0.02);
  expect(wilson(0, trials).high).toBeLessThanOrEqual(0.02);
  expect(wilson(0, trials - 1).high).toBeGreaterThan(0.02);
  expect(trials).toBe(189);
});
