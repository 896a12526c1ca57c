// operator, test/crash: test suite with a crash at every write of each scenario. May import operator, kube and protocol.
import { afterAll, describe, expect, test } from 'vitest';
import { crashName, injectionOf, modeName, modes, pairs, sample, singles, type Crash } from './enumerate.ts';
import { afterCrashes, judge } from './judge.ts';
import { run, type Result } from './run.ts';
import type { Scenario } from './scenario.ts';

const full = process.env['AGENTFLEET_FULL'] === '1';
const seed = Number(process.env['AGENTFLEET_SEED'] ?? 1);

/** Pairs of crashes that are tried of each short scenario at every change. */
const pairsInShort = 8;

/** Most writes of a scenario whose pairs of crashes are tried. */
const shortWrites = 12;

/** Most failures of a scenario that are reported in full. */
const mostReported = 3;

/** A busy machine takes its time; nothing here hangs on how much. */
const timeoutMs = full ? 3_600_000 : 300_000;

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
    const faults = await judge(scenario, { injection: injectionOf(crashes) }, golden, afterCrashes(scenario, crashes.length));
    if (faults.length > 0) failures.push([crashName(crashes), ...faults].join('\n'));
  }
  count.failures += failures.length;
  expect(failures.slice(0, mostReported).join('\n\n'), `${failures.length} of ${plans.length} runs`).toBe('');
}

/** Runs each scenario once without a fault. */
function learner(count: Count): (scenario: Scenario) => Promise<Result> {
  const known = new Map<Scenario, Promise<Result>>();
  return (scenario) => {
    const found = known.get(scenario);
    if (found !== undefined) return found;
    const learning = run(scenario).then((result) => {
      count.scenarios += 1;
      count.writes += result.writes.length;
      return result;
    });
    known.set(scenario, learning);
    return learning;
  };
}

/** Tests of scenarios: the operator dies at every write in every way, at pairs of writes where that is few, and nothing comes of it. */
export function crashSuite(title: string, scenarios: readonly Scenario[]): void {
  const count: Count = { scenarios: 0, writes: 0, singles: 0, pairs: 0, failures: 0 };
  const learn = learner(count);

  describe(title, { timeout: timeoutMs }, () => {
    test.each(scenarios)('$name', async (scenario) => {
      const golden = await learn(scenario);
      expect(golden.faults).toEqual([]);
      expect(await judge(scenario, {}, golden, { writes: 0, reconciles: 0 })).toEqual([]);
    });

    const cases = scenarios.flatMap((scenario) => modes.map((mode) => ({ scenario, name: scenario.name, mode, how: modeName(mode) })));
    test.each(cases)('$name, each write: $how', async ({ scenario, mode }) => {
      const golden = await learn(scenario);
      const plans = singles(golden.writes.length, mode);
      count.singles += plans.length;
      await tryAll(scenario, plans, golden, count);
    });

    const short = scenarios.filter((scenario) => scenario.pairs === true);
    test.each(short)('$name, with two deaths', async (scenario) => {
      const golden = await learn(scenario);
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
