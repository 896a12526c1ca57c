import { describe, expect, it } from 'vitest';
import { Judge } from '../data/judge.ts';
import { readProblems } from '../data/problems.ts';
import { Random } from '../numeric/random.ts';
import type { Example } from './example.ts';
import { generateExamples, splitsOf } from './generate.ts';
import { manifestOf } from './manifest.ts';
import { negativeOf, samplers } from './negatives.ts';
import { refuseInvalid } from './refuse.ts';

/** `npm run test:full` makes the number of programs that a release is measured on. */
const count = process.env['AGENTFLEET_FULL'] === '1' ? 20_000 : 400;
const minutes = 60_000;

async function made(seed: number, number: number, flakyRate: number): Promise<readonly Example[]> {
  const judge = new Judge();
  const examples: Example[] = [];
  try {
    for await (const some of generateExamples(await readProblems(), { seed, count: number, flakyRate, judge })) examples.push(...some);
  } finally {
    await judge.close();
  }
  return examples;
}

describe('the generator', () => {
  it('makes programs of all strata that may be trained on, as many as asked', { timeout: 60 * minutes }, async () => {
    const examples = await made(1, count, 0.05);
    expect(examples.length).toBe(count);
    refuseInvalid(examples);
    const strata = Map.groupBy(examples, ({ stratum }) => stratum);
    expect([...strata.keys()].sort()).toEqual(['Fail', 'Flaky', 'Pass', 'PlausibleFail']);
    expect(new Set(examples.map(({ id }) => id)).size).toBe(count);
    for (const { stratum, replays, features } of examples) {
      expect(replays).toHaveLength(2);
      if (stratum === 'Pass') expect([replays, features.testsFailed]).toEqual([[true, true], 0]);
    }
  });

  it('makes the same of the same seed, and flakes at the rate that it is given', { timeout: 4 * minutes }, async () => {
    const [one, again, other] = [await made(5, 160, 0.3), await made(5, 160, 0.3), await made(6, 160, 0.3)];
    // What ends just at its limit of processor time may end elsewhere.
    const late = new Set([...one, ...again].filter(({ features }) => features.timedOut === 1).map(({ problem }) => problem));
    const digestOf = (some: readonly Example[]): string =>
      manifestOf(
        some.filter(({ problem }) => !late.has(problem)),
        5,
      ).digest;
    expect(late.size).toBeLessThan(40);
    expect(digestOf(again)).toBe(digestOf(one));
    expect(digestOf(other)).not.toBe(digestOf(one));
    const flaky = [...one, ...other].filter(({ stratum }) => stratum === 'Flaky').length;
    // 0.3 of 320 are 96, ± 8 as one deviation.
    expect(flaky).toBeGreaterThan(63);
    expect(flaky).toBeLessThan(129);
  });

  it('has no flake at a rate of 0', { timeout: 2 * minutes }, async () => {
    expect((await made(3, 160, 0)).filter(({ stratum }) => stratum === 'Flaky')).toEqual([]);
  });

  it('puts each problem into one split', async () => {
    const splits = splitsOf(await readProblems(), 1);
    const sizes = Map.groupBy(splits.values(), (split) => split);
    expect([...sizes.keys()].sort()).toEqual(['calibration', 'heldOut', 'train']);
  });
});

describe('the negatives', () => {
  const source = [
    'def f(xs, n):',
    '    if n < 0:',
    '        return []',
    '    found = []',
    '    total = 0',
    '    for i in range(n):',
    '        found.append(xs[i])',
    '    return sorted(found)',
    '',
  ].join('\n');

  it.each([
    ['offByOne', /range\(n [+-] 1\)|xs\[i [+-] 1\]|n <= 0|n < 1|total = 1/],
    ['wrongApi', /\.add\(|\.extend\(|reversed\(/],
    ['reorderedPlan', /total = 0\n {4}found = \[\]/],
    ['droppedPrecondition', /def f\(xs, n\):\n {4}pass\n {4}found/],
  ])('%s', (name, expected) => {
    const random = new Random(2);
    const found = Array.from({ length: 60 }, () => samplers[name]?.(source, random)).filter((one) => one !== null && one !== source);
    expect(found.length).toBeGreaterThan(0);
    for (const one of found) expect(one).toMatch(expected);
  });

  it('are of all kinds', () => {
    const random = new Random(4);
    const kinds = new Set(Array.from({ length: 300 }, () => negativeOf(source, random)?.kind));
    for (const name of Object.keys(samplers)) expect(kinds).toContain(name);
  });
});
