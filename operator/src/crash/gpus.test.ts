import { expect, test } from 'vitest';
import { crashName, fateOf, modes, sample, singles } from './enumerate.ts';
import { run } from './run.ts';
import { canaries } from './scenarios/canaries.ts';
import { gpus } from './scenarios/gpus.ts';
import { crashSuite } from './suite.ts';

crashSuite('engines on GPUs', gpus);

const full = process.env['AGENTFLEET_FULL'] === '1';

/** Deaths that are tried at every change; all of them in the full suite. */
const some = 8;

test.each(canaries)('$name, wherever the operator dies', { timeout: full ? 3_600_000 : 300_000 }, async (scenario) => {
  const golden = await run(scenario);
  expect(golden.faults).toEqual([]);
  const all = modes.flatMap((mode) => singles(golden.writes.length, mode));
  for (const crashes of full ? all : sample(all, some, 3)) {
    const result = await run(scenario, { fate: fateOf(crashes) });
    expect(result.faults, crashName(crashes)).toEqual([]);
  }
});
