import { expect, test } from 'vitest';
import { crashName, fateOf, modes, sample, singles } from './enumerate.ts';
import { run } from './run.ts';
import { shadows } from './scenarios/shadows.ts';

const full = process.env['AGENTFLEET_FULL'] === '1';

/** Deaths of each scenario that are tried at every change; all of them in the full suite. */
const some = 4;

test.each(shadows)('$name, and counted exactly, wherever the operator dies', { timeout: full ? 3_600_000 : 300_000 }, async (scenario) => {
  const golden = await run(scenario);
  expect(golden.faults).toEqual([]);
  const all = modes.flatMap((mode) => singles(golden.writes.length, mode));
  for (const crashes of full ? all : sample(all, some, 3)) {
    const result = await run(scenario, { fate: fateOf(crashes) });
    expect(result.faults, crashName(crashes)).toEqual([]);
  }
});
