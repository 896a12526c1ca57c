import { afterAll, describe, expect, test } from 'vitest';
import { crashName, fateOf, modes, pairs, sample, singles, type Crash } from './enumerate.ts';
import { afterCrash, judge } from './judge.ts';
import { run, type Result } from './run.ts';
import type { Scenario } from './scenario.ts';

const full = process.env['AGENTFLEET_FULL'] === '1';
const seed = Number(process.env['AGENTFLEET_SEED'] ?? 1);

/** Pairs of crashes that are tried of each short scenario at every change. */
const pairsInShort = 8;

/** Most writes of a scenario whose pairs of crashes are tried. */
const shortWrites = 12;

/** Most failures of a scenario that are told in full. */
const mostTold = 3;

interface Count {
  scenarios: number;
  writes: number;
  singles: number;
  pairs: number;
  failures: number;
}

async function tryAll(scenario: Scenario, plans: readonly (readonly Crash[])[], golden: Result, count: Count): Promise<void> {
  const failures: string[] = [];
  for (const crashes of plans) {
    const faults = await judge(scenario, { fate: fateOf(crashes) }, golden, afterCrash);
    if (faults.length > 0) failures.push([crashName(crashes), ...faults].join('\n'));
  }
  count.failures += failures.length;
  expect(failures.slice(0, mostTold).join('\n\n'), `${failures.length} of ${plans.length} runs`).toBe('');
}

/** Tests of scenarios: the operator dies at every write in every way, at pairs of writes where that is few, and nothing comes of it. */
export function crashSuite(title: string, scenarios: readonly Scenario[]): void {
  const count: Count = { scenarios: 0, writes: 0, singles: 0, pairs: 0, failures: 0 };

  describe(title, () => {
    test.each(scenarios)('$name', async (scenario) => {
      const golden = await run(scenario);
      expect(golden.faults).toEqual([]);
      const plans = singles(golden.writes.length);
      count.scenarios += 1;
      count.writes += golden.writes.length;
      count.singles += plans.length;
      console.log(`${scenario.name}: ${golden.writes.length} writes × ${modes.length} modes = ${plans.length} runs`);
      await tryAll(scenario, plans, golden, count);
    });

    const short = scenarios.filter((scenario) => scenario.pairs === true);
    test.each(short)('$name, with two deaths', async (scenario) => {
      const golden = await run(scenario);
      expect(golden.writes.length).toBeLessThanOrEqual(shortWrites);
      const all = pairs(golden.writes.length);
      const plans = full ? all : sample(all, pairsInShort, seed);
      count.pairs += plans.length;
      await tryAll(scenario, plans, golden, count);
    });

    afterAll(() => {
      const { scenarios: tried, writes, singles: one, pairs: two, failures } = count;
      console.log(
        `${title}: ${tried} scenarios, ${writes} writes × ${modes.length} modes = ${one} runs, ${two} pairs; ${failures} failures`,
      );
    });
  });
}
