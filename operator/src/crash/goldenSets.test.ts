import { expect, test } from 'vitest';
import { crashName, fateOf, modes, sample, singles } from './enumerate.ts';
import { run } from './run.ts';
import { goldenSets } from './scenarios/goldenSets.ts';

const full = process.env['AGENTFLEET_FULL'] === '1';

/** Deaths that are tried at every change; all of them in the full suite. */
const some = 6;

test.each(goldenSets)('$name, each Job once, wherever the operator dies', { timeout: full ? 3_600_000 : 300_000 }, async (scenario) => {
  const golden = await run(scenario);
  expect(golden.faults).toEqual([]);
  const all = modes.flatMap((mode) => singles(golden.writes.length, mode));
  for (const crashes of full ? all : sample(all, some, 5)) {
    const result = await run(scenario, { fate: fateOf(crashes) });
    expect(result.faults, crashName(crashes)).toEqual([]);
  }
});
