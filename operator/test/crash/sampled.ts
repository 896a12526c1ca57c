// operator, test/crash: tests of long scenarios with a sample of single crashes. May import operator, kube and protocol.
import { expect, test } from 'vitest';
import { crashName, injectionOf, modes, sample, singles } from './enumerate.ts';
import { run } from './run.ts';
import type { Scenario } from './scenario.ts';

const full = process.env['AGENTFLEET_FULL'] === '1';

/**
 * Tests of long scenarios that judge themselves: the operator dies once, at `some` of all writes and ways at every change, at all of
 * them in the full suite. Another end than that without a fault is none: who is counted where hangs on the moment.
 *
 * @param what - behind the name of each scenario: what holds
 */
export function sampledCrashes(what: string, scenarios: readonly Scenario[], some: number): void {
  test.each(scenarios)(`$name, ${what}, wherever the operator dies`, { timeout: full ? 3_600_000 : 300_000 }, async (scenario) => {
    const golden = await run(scenario);
    expect(golden.faults).toEqual([]);
    const all = modes.flatMap((mode) => singles(golden.writes.length, mode));
    for (const crashes of full ? all : sample(all, some, 3)) {
      const result = await run(scenario, { injection: injectionOf(crashes) });
      expect(result.faults, crashName(crashes)).toEqual([]);
    }
  });
}
