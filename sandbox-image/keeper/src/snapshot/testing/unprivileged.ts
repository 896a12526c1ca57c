/**
 * Runs both properties outside of the test runner, as a user that must not be root: only then do modes close anything.
 * `node unprivileged.ts SEED RUNS`.
 */
import * as fc from 'fast-check';
import { assertRevertTrip } from './revertTrip.ts';
import { assertRoundTrip } from './roundTrip.ts';
import { operations } from './treeOps.ts';

const [seed = 1, numRuns = 50] = process.argv.slice(2).map(Number);
if (process.getuid?.() === 0) throw new Error('this is for a user who is not root');
const shell = { command: ['sh'], path: process.env['PATH'] ?? '/usr/bin:/bin', exactTimes: true };
const histories = fc.array(operations, { minLength: 3, maxLength: 3 });
await fc.assert(fc.asyncProperty(histories, assertRoundTrip), { seed, numRuns });
await fc.assert(
  fc.asyncProperty(histories, (sequences) => assertRevertTrip(shell, sequences)),
  { seed, numRuns },
);
