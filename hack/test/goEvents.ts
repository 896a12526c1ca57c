// hack, test: events and failures of go test. May import any package.
import type { Failure } from './report.ts';

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
