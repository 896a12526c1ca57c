import { parseResults } from '@agentfleet/agent/checks';
import type { PackCheck } from '../format/index.ts';
import type { Ending } from './command.ts';

/** Those of the tests that did not pass, by what their runner printed. */
export function missedTests(ids: readonly string[], output: string, exitCode: number | null): string[] {
  const { tests } = parseResults('Auto', { exitCode, stdout: output, stderr: '' });
  const passed = new Set(tests.filter(({ outcome }) => outcome === 'Passed').map(({ id }) => id));
  return ids.filter((id) => !passed.has(id));
}

/** Whether a check passed: by its exit status, or where it names tests, by all of these. */
export function checkPassed({ tests }: Pick<PackCheck, 'tests'>, { passed, reason, output, status }: Ending): boolean {
  if (tests === undefined) return passed;
  return reason === 'Exit' && missedTests([...tests.failing, ...tests.passing], output, status).length === 0;
}
