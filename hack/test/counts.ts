// hack, test: counts of tests in reports of Vitest and go test. May import any package.
import { readFile } from 'node:fs/promises';
import type { Failure } from './report.ts';

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

/** One line of `go test -json`. */
export interface GoEvent {
  readonly Action: string;
  readonly Package?: string;
  readonly Test?: string;
  readonly Output?: string;
  readonly Elapsed?: number;
}

export function parseGoEvents(lines: string): readonly GoEvent[] {
  return lines
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as GoEvent);
}

/** Returns failed top-level tests, by package. Undefined when something else than a test failed, which a second try cannot cure. */
export function findFailedTests(events: readonly GoEvent[]): ReadonlyMap<string, readonly string[]> | undefined {
  const failures = events.filter((event) => event.Action === 'fail');
  if (events.some((event) => event.Action === 'build-fail')) return undefined;
  const tests = new Map<string, string[]>();
  for (const { Package: name = '', Test: test } of failures) {
    if (test === undefined || test.includes('/')) continue;
    tests.set(name, [...(tests.get(name) ?? []), test]);
  }
  const broken = failures.some(({ Package: name = '', Test: test }) => test === undefined && !tests.has(name));
  return broken ? undefined : tests;
}

/** Last lines of output that are kept of a failing Go test. */
const outputLines = 12;

/** Returns each failing test with the end of its output; a package that failed without one with its own. */
export function goFailures(events: readonly GoEvent[]): readonly Failure[] {
  const failed = events.filter(({ Action }) => Action === 'fail' || Action === 'build-fail');
  const inner = ({ Package: name, Test: test }: GoEvent): boolean =>
    failed.some((other) => other.Test !== undefined && other.Package === name && (test === undefined || other.Test.startsWith(`${test}/`)));
  return failed
    .filter((event) => !inner(event))
    .map((event) => {
      const own = events.filter(
        ({ Action, Package: name, Test: test }) => Action.endsWith('output') && name === event.Package && test === event.Test,
      );
      const lines = own
        .flatMap(({ Output: text = '' }) => text.split('\n'))
        .filter((line) => line.trim() !== '' && !line.startsWith('=== '));
      return {
        name: [event.Package ?? 'build', event.Test].filter((word) => word !== undefined).join(' > '),
        lines: lines.slice(-outputLines),
      };
    });
}

/** Merges the events of both tries: a test of the second try has its result there. */
export function mergeTries(first: readonly GoEvent[], second: readonly GoEvent[]): readonly GoEvent[] {
  const again = new Set(second.flatMap((event) => (event.Test === undefined ? [] : [`${event.Package}/${top(event.Test)}`])));
  const packages = new Set(second.map((event) => event.Package));
  const stands = ({ Package: name, Test: test }: GoEvent): boolean =>
    test === undefined ? !packages.has(name) : !again.has(`${name}/${top(test)}`);
  return [...first.filter((event) => event.Action !== 'fail' || stands(event)), ...second];
}

function top(test: string): string {
  return test.split('/')[0] ?? test;
}
