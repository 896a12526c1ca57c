// hack, test: counts of tests in reports of Vitest and go test. May import any package.
import { readFile } from 'node:fs/promises';

/** Tests that passed, failed and were skipped. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export const noTests: Counts = { passed: 0, failed: 0, skipped: 0 };

export function add(a: Counts, b: Counts): Counts {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped };
}

/** Reads the JSON report of vitest. A missing report counts as one failure: the run died. */
export async function readVitest(path: string): Promise<Counts> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return { passed: 0, failed: 1, skipped: 0 };
  const report = JSON.parse(text) as {
    numPassedTests: number;
    numFailedTests: number;
    numPendingTests: number;
    numFailedTestSuites: number;
  };
  const { numPassedTests: passed, numPendingTests: skipped } = report;
  return { passed, failed: Math.max(report.numFailedTests, report.numFailedTestSuites > 0 ? 1 : 0), skipped };
}

/** Counts the events of `go test -json`: tests, and packages that failed without one. */
export function countGo(lines: string): Counts {
  let counts = noTests;
  for (const line of lines.split('\n')) {
    if (!line.startsWith('{')) continue;
    const event = JSON.parse(line) as { Action: string; Test?: string };
    if (event.Test === undefined && event.Action !== 'build-fail') continue;
    if (event.Action === 'pass') counts = add(counts, { ...noTests, passed: 1 });
    if (event.Action === 'fail' || event.Action === 'build-fail') counts = add(counts, { ...noTests, failed: 1 });
    if (event.Action === 'skip') counts = add(counts, { ...noTests, skipped: 1 });
  }
  return counts;
}
