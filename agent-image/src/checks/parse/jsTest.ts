// agent-image, checks/parse: parser for the text of vitest, jest and mocha. Imports no other folder of the worker.
import type { CommandOutput, Counts, ParsedResults } from './results.ts';
import { Collector, linesOf, type Found } from './collector.ts';

type JsFormat = 'Vitest' | 'Jest' | 'Mocha';

/** Line that counts tests, with what it counts. Before it stands the package in what pnpm prints of a workspace. */
const sums: Readonly<Record<JsFormat, RegExp>> = {
  Vitest: /^(?:\S{1,200} \S{1,80}: )? {5,6}Tests {2}(\d.*) \(\d{1,9}\)$/,
  Jest: /^(?:\S{1,200} \S{1,80}: )?Tests: +(\d.*), \d{1,9} total$/,
  Mocha: /^(?:\S{1,200} \S{1,80}: )? {2}(\d{1,9} (?:passing(?= \(\d+m?[smh]\)$)|pending$|failing$))/,
};

/** Line that begins a failure. */
const begins: Readonly<Record<JsFormat, RegExp>> = {
  Vitest: /^(?:\S{1,200} \S{1,80}: )? FAIL {2,3}(\S.*)$/,
  Jest: /^(?:\S{1,200} \S{1,80}: )?(?:FAIL (\S.*?)(?: \(\d[\d.]* m?s\))?| {2}● (\S.*))$/,
  Mocha: /^(?:\S{1,200} \S{1,80}: )? {2}\d{1,9}\) (\S.*)$/,
};

const words = { passed: 'passed', passing: 'passed', failed: 'failed', failing: 'failed', skipped: 'skipped', pending: 'skipped', todo: 'skipped' } as const; // prettier-ignore

/** Reports whether a line counts the tests of a runner. */
export const isSumOf = (format: JsFormat, line: string): boolean => line.length < 400 && sums[format].test(line);

/** Adds up what the lines count; null: none does. */
function countsOf(format: JsFormat, lines: readonly string[]): Counts | null {
  const parts = lines.flatMap((line) => (isSumOf(format, line) ? (sums[format].exec(line)?.[1]?.split(/ \| |, /) ?? []) : []));
  if (parts.length === 0) return null;
  const counts = { passed: 0, failed: 0, skipped: 0, errored: 0 };
  for (const part of parts) {
    const [number = '', word = ''] = part.split(' ');
    if (Object.hasOwn(words, word)) counts[words[word as keyof typeof words]] += Number(number);
  }
  return counts;
}

const readers: Readonly<Record<JsFormat, (lines: readonly string[]) => readonly Found[]>> = {
  Vitest: vitestFailures,
  Jest: jestFailures,
  Mocha: mochaFailures,
};

const fileFailed = (id: string, message: string): Found => ({ id, outcome: 'Errored', kind: 'Container', message });

/** ` FAIL  FILE > SUITE > TEST` and its message; below `Failed Suites` set-up and tear-down failed, or a file did not load. */
function vitestFailures(lines: readonly string[]): readonly Found[] {
  const found: Found[] = [];
  let ofSuites = false;
  for (const [at, line] of lines.entries()) {
    const section = /⎯ Failed (Suites|Tests) \d+ ⎯/.exec(line)?.[1];
    if (section !== undefined) ofSuites = section === 'Suites';
    const name = begins.Vitest.exec(line)?.[1];
    if (name === undefined) continue;
    const message = lines.slice(at + 1, at + 50).find((next) => !begins.Vitest.test(next)) ?? '';
    const [, file] = /^(?:.* )?\S+ \[ (\S+) \]$/.exec(name) ?? [];
    if (file !== undefined) found.push(fileFailed(file, message));
    else found.push({ id: name, outcome: 'Failed', kind: ofSuites ? 'Group' : 'Test', message });
  }
  return found;
}

/** `FAIL FILE`, then `● SUITE › TEST` and its message for each. */
function jestFailures(lines: readonly string[]): readonly Found[] {
  const found: Found[] = [];
  let file: string | undefined;
  for (const [at, line] of lines.entries()) {
    const [, path, name] = begins.Jest.exec(line) ?? [];
    if (path !== undefined) file = path;
    else if (/^PASS \S/.test(line)) file = undefined;
    if (file === undefined || name === undefined || name === 'Console') continue;
    const message = lines.slice(at + 1, at + 4).find((next) => next.trim() !== '') ?? '';
    if (name === 'Test suite failed to run') found.push(fileFailed(file, message.trim()));
    else found.push({ id: `${file} > ${name}`, outcome: 'Failed', message: message.trim() });
  }
  return found;
}

/** `1) SUITE`, then the names within it, a line each and the last one with a colon, then the message. Only below the sum. */
function mochaFailures(lines: readonly string[]): readonly Found[] {
  const found: Found[] = [];
  let below = false;
  for (const [at, line] of lines.entries()) {
    if (isSumOf('Mocha', line)) below = true;
    const first = below ? begins.Mocha.exec(line)?.[1] : undefined;
    if (first === undefined) continue;
    const rest = lines.slice(at, at + 24).map((next) => next.trim());
    const last = rest.findIndex((next) => next.endsWith(':'));
    if (last === -1) continue;
    const id = [first, ...rest.slice(1, last + 1)].join(' > ').replace(/:$/, '');
    const message = rest.slice(last + 1).find((next) => next !== '') ?? '';
    found.push({ id, outcome: 'Failed', kind: /(?:^| > )"(?:before|after) (?:all|each)" hook\b/.test(id) ? 'Group' : 'Test', message });
  }
  return found;
}

const cure = 'let the runner print every failure, and tests nothing that looks like one; or add a reporter for JUnit or TAP';

/**
 * vitest, jest, mocha with the reporters that they have by themselves: failing tests have a name, the others are counted. A name may
 * be printed more than once, and two tests may have one name.
 */
export const parseJsTest =
  (format: JsFormat) =>
  ({ stdout, stderr }: CommandOutput): ParsedResults => {
    const collector = new Collector();
    const [out, err] = [linesOf(stdout), linesOf(stderr)];
    const lines = [...out.lines, ...err.lines];
    const counts = countsOf(format, lines);
    const failures = readers[format](lines);
    const distinct = new Map(failures.map((one) => [one.id, one]));
    for (const one of distinct.values()) collector.add(one);
    collector.evidence = 'Counts';
    if (counts === null) collector.incomplete('no line counts the tests', 'read the output of the check');
    else {
      // mocha counts what failed around tests as well.
      const isCounted = ({ kind = 'Test' }: Found): boolean => format === 'Mocha' || kind === 'Test';
      const named = [...distinct.values()].filter(isCounted).length;
      collector.unnamed = { ...counts, failed: Math.max(0, counts.failed - named) };
      const said = `${counts.failed} tests fail and ${named} are named`;
      if (named > counts.failed) collector.distrust('CountsDisagree', said, cure);
      else if (failures.filter(isCounted).length < counts.failed) collector.distrust('NamesMissing', said, cure);
    }
    if (out.cut || err.cut) collector.incomplete('the output is too long', 'print less');
    return collector.finish(format);
  };
