/**
 * Runs cases as the user it is started as: `node main.ts RUNNER SEED CASES`. A counterexample is shrunk and reported, and
 * the exit status is 1; otherwise the last line is the number of cases.
 */
import { flushCompileCache } from 'node:module';
import * as fc from 'fast-check';
import { assertUndone, type FuzzCase } from './case.ts';
import { examples } from './examples.ts';
import { fuzzOperations } from './operations.ts';

// The processes that are killed run the same modules, and would write none.
flushCompileCache();
const [runner = '', seed = '1', cases = '100'] = process.argv.slice(2);

const histories: fc.Arbitrary<FuzzCase> = fc.record({
  setup: fuzzOperations,
  changes: fuzzOperations,
  killAfterMs: fc.oneof({ weight: 7, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat({ max: 40 }) }),
});

await fc.assert(
  fc.asyncProperty(histories, (one) => assertUndone(runner, one)),
  {
    seed: Number(seed),
    numRuns: Number(cases),
    examples: examples.map((one): [FuzzCase] => [one]),
    endOnFailure: process.env['AGENTFLEET_FULL'] === '1',
  },
);
console.log(cases);
