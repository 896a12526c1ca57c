/** Parses the output of test runners, one format a file. Pure. Imports nothing of the worker. */
import type { CommandOutput, ParsedResults, ResultFormat } from './results.ts';
import { withAgreement } from './agreement.ts';
import { detect } from './detect.ts';
import { parseExit } from './exit.ts';
import { parseGoTest } from './goTest.ts';
import { parseJUnit } from './junit.ts';
import { parseNodeTest } from './nodeTest.ts';
import { parsePytest } from './pytest.ts';
import { parseTap } from './tap.ts';
import { parseUnittest } from './unittest.ts';

const parsers: Readonly<Record<ResultFormat, (output: CommandOutput) => ParsedResults>> = {
  Exit: parseExit,
  JUnit: parseJUnit,
  TAP: parseTap,
  Pytest: parsePytest,
  NodeTest: parseNodeTest,
  GoTest: parseGoTest,
  Unittest: parseUnittest,
};

/**
 * Reads the results of a check's command. Never throws; untrusted results are listed in `problems`.
 *
 * For the result of an attempt pass the format that the baseline had, not `Auto`: the attempt controls the output, and
 * could choose a weaker one.
 *
 * @example parseResults('TAP', { exitCode: 0, stdout: '1..1\nok 1 - adds\n', stderr: '' }); // { format: 'TAP',
 * evidence: 'Tests', complete: true, tests: [{ id: 'adds', outcome: 'Passed', … }], … }
 */
export function parseResults(format: ResultFormat | 'Auto', output: CommandOutput): ParsedResults {
  if (format !== 'Auto') return withAgreement(parsers[format](output), output);
  const { format: found, why } = detect(output);
  return { ...withAgreement(parsers[found](output), output), chosen: `${found}: ${why}` };
}
