// agent-image, checks/parse: parser for runners that count tests in a line and name those that fail. Imports no other folder of the worker.
import type { CommandOutput, Counts, ParsedResults, SummedFormat } from './results.ts';
import { boundedName, Collector, linesOf, maxTests, type Found } from './collector.ts';

interface Runner {
  /** Line that counts tests. */
  readonly sum: RegExp;
  /** Line that begins a failure, with its name. */
  readonly begin: RegExp;
  /** The sum counts what failed around tests as well: hooks, files that did not load. */
  readonly countsAll: boolean;
  /** Line of a file or class of tests, with its name and, where it stands there, how many it has. */
  readonly file?: RegExp;
  /** Line of each run that is not quiet: a quiet one has no sum when all tests pass. */
  readonly end?: RegExp;
  readonly failures: (lines: readonly string[]) => readonly Found[];
}

const runners: Readonly<Record<SummedFormat, Runner>> = {
  Vitest: {
    sum: /^ {5,6}Tests {2}(\d.*) \(\d{1,9}\)$/,
    begin: /^ FAIL {2,3}(\S.*)$/,
    file: /^ [✓❯×↓] +(?<name>\S.*?) {1,2}\((?<tests>\d{1,9}) tests?(?: \| [^()]*)?\)(?: .*)?$/,
    countsAll: false,
    failures: vitestFailures,
  },
  Jest: {
    sum: /^Tests: +(\d.*, \d{1,9} total)$/,
    begin: /^(?:FAIL (\S.*?)(?: \(\d[\d.]* m?s\))?| {2}● (\S.*))$/,
    file: /^(?:PASS|FAIL) +(?<name>\S.*?)(?: \(\d[^()]*(?:m?s|heap size)\))?$/,
    countsAll: false,
    failures: jestFailures,
  },
  Mocha: {
    sum: /^ {2}(\d{1,9} (?:passing(?= \(\d+m?[smh]\)$)|pending$|failing$))/,
    begin: /^ {2}\d{1,9}\) (\S.*)$/,
    countsAll: true,
    failures: mochaFailures,
  },
  RSpec: {
    sum: /^(\d{1,9} examples?, \d{1,9} failures?(?:, \d{1,9} pending)?(?:, \d{1,9} errors?)?)(?: occurred outside of examples)?$/,
    begin: /^(?:rspec \S.*? # (\S.*)|An error occurred while loading (\S+)\.(?: - .*)?)$/,
    countsAll: true,
    failures: rspecFailures,
  },
  Minitest: {
    sum: /^(\d{1,9} (?:runs|tests), \d{1,9} assertions, \d{1,9} failures, \d{1,9} errors, \d{1,9} skips)$/,
    begin: /^(?: *\d{1,9}\) )?(?:Failure|Error):$/,
    countsAll: true,
    failures: minitestFailures,
  },
  TestUnit: {
    sum: /^(\d{1,9} tests, \d{1,9} assertions, \d{1,9} failures, \d{1,9} errors, \d{1,9} pendings, \d{1,9} omissions, \d{1,9} notifications)$/,
    begin: /^(?:Failure|Error): (\S.*)\(([^()]+)\)(?:$|: )/,
    countsAll: true,
    failures: testUnitFailures,
  },
  PHPUnit: {
    sum: /^(?:OK \((\d{1,9} tests?, \d{1,9} assertions?)\)|(Tests: \d{1,9}, Assertions: .*)\.)$/,
    begin: /^\d{1,9}\) (\S.*)$/,
    countsAll: true,
    failures: phpUnitFailures,
  },
  Maven: {
    sum: /^\[(?:INFO|WARNING|ERROR)\] (Tests run: \d{1,9}, Failures: \d{1,9}, Errors: \d{1,9}, Skipped: \d{1,9})(?:, Flakes: \d{1,9})?$/,
    begin: /^\[ERROR\] (\S.*?)(?<=\S)(?: --)? +Time elapsed: [\d.,]+ s +<<< (?:FAILURE|ERROR)!$/,
    file: /^\[(?:INFO|WARNING|ERROR)\] Tests run: (?<tests>\d{1,9}), .* --? in (?<name>\S+)$/,
    countsAll: true,
    end: /^\[INFO\] BUILD (?:SUCCESS|FAILURE)$/,
    failures: mavenFailures,
  },
  Catch2: {
    sum: /^(?:test cases: +\d{1,9} \| +(\d.*)|All tests passed \(\d{1,9} assertions? in (\d{1,9} test) cases?\))$/,
    begin: /^\S.*:\d{1,9}: FAILED:$/,
    countsAll: true,
    failures: catchFailures,
  },
  Doctest: {
    sum: /^\[doctest\] test cases: +\d{1,9} \| +(\d.*)$/,
    begin: /^\S.*:\d{1,9}: (?:FATAL )?ERROR: (.*)$/,
    countsAll: true,
    failures: doctestFailures,
  },
};

/** Words that sums have for the outcomes of tests, singular and in small letters. */
const words: Readonly<Record<string, keyof Counts | 'all'>> = {
  passed: 'passed', passing: 'passed',
  failed: 'failed', failing: 'failed', failure: 'failed', error: 'errored',
  skipped: 'skipped', skip: 'skipped', pending: 'skipped', omission: 'skipped', todo: 'skipped', incomplete: 'skipped',
  total: 'all', example: 'all', run: 'all', test: 'all',
}; // prettier-ignore

/** Reports whether a line counts the tests of a runner. */
const isSumOf = (format: SummedFormat, line: string): boolean => line.length < 400 && runners[format].sum.test(line);

/** Reports whether lines are those of a runner that counts tests. */
export const isSummedBy = (format: SummedFormat, lines: readonly string[]): boolean =>
  lines.some((line) => isSumOf(format, line) || isSumOf(format, ofPackage.exec(line)?.[2] ?? '')) && ends(format, lines);

/** A line of a package that is tested beside others: `packages/a test: `, `@a/b:test: `, `@a/b: `, `[@a/b]: ` of pnpm, turbo, lerna and yarn. */
const ofPackage = /^(\S{1,200}(?<!:)(?: \S{1,80}(?<!:))?): (.*)$/;

/** The lines of each package that counts its tests, by what stands in front of them; the others have nothing in front. */
function byPackage(format: SummedFormat, lines: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const parts = lines.map((line) => ofPackage.exec(line) ?? [line, '', line]);
  const names = new Set(parts.flatMap(([, name = '', rest = '']) => (isSumOf(format, rest) ? [name] : [])));
  const groups = Map.groupBy(parts, ([, name = '']) => (names.has(name) ? name : ''));
  return new Map([...groups].map(([name, own]) => [name, own.map(([line = '', , rest = '']) => (name === '' ? line : rest))]));
}

/** Returns how many tests each file has by the lines of a runner that counts them so, the least where several lines name it. */
function filesOf(format: SummedFormat, groups: ReadonlyMap<string, readonly string[]>): ReadonlyMap<string, number> {
  const files = new Map<string, number>();
  const { file } = runners[format];
  for (const [within, lines] of groups)
    for (const line of lines) {
      const { name, tests = '1' } = (line.length < 1000 ? file?.exec(line)?.groups : undefined) ?? {};
      if (name === undefined || files.size >= maxTests) continue;
      const id = `${within} ${name}`.trim();
      files.set(id, Math.min(files.get(id) ?? Infinity, Number(tests)));
    }
  return files;
}

const ends = (format: SummedFormat, lines: readonly string[]): boolean => lines.some((line) => runners[format].end?.test(line) ?? true);

/** Adds up what the lines count; null: none does. */
function countsOf(format: SummedFormat, lines: readonly string[]): Counts | null {
  const sum = { passed: 0, failed: 0, skipped: 0, errored: 0, all: 0 };
  const texts = lines.filter((line) => isSumOf(format, line)).map((line) => runners[format].sum.exec(line)?.slice(1).join('') ?? '');
  for (const [, before, word = '', name = word, after = before] of texts
    .join(', ')
    .matchAll(/(\d{1,9}) ([a-z]+)|\b([A-Za-z]+): (\d{1,9})/g)) {
    const kind = words[name.toLowerCase().replace(/s$/, '')];
    if (kind !== undefined) sum[kind] += Number(after);
  }
  const { all, ...counts } = sum;
  const rest = Math.max(0, all - counts.failed - counts.errored - counts.skipped);
  return texts.length === 0 ? null : { ...counts, passed: Math.max(counts.passed, rest) };
}

/** Lines after one that a message is looked for in: all of them, for each failure, would take quadratic time. */
const near = 50;
const firstText = (lines: readonly string[]): string => lines.find((line) => line.trim() !== '')?.trim() ?? '';
const fileFailed = (id: string, message: string): Found => ({ id, outcome: 'Errored', kind: 'Container', message });

/** ` FAIL  FILE > SUITE > TEST` and its message; below `Failed Suites` set-up and tear-down failed, or a file did not load. */
function vitestFailures(lines: readonly string[]): readonly Found[] {
  const { begin } = runners.Vitest;
  let ofSuites = false;
  return lines.flatMap((line, at): Found[] => {
    const section = /⎯ Failed (Suites|Tests) \d+ ⎯/.exec(line)?.[1];
    if (section !== undefined) ofSuites = section === 'Suites';
    const name = begin.exec(line)?.[1];
    if (name === undefined) return [];
    const message = firstText(lines.slice(at + 1, at + near).filter((next) => !begin.test(next)));
    const file = /^(?:.* )?\S+ \[ (\S+) \]$/.exec(name)?.[1];
    return [file === undefined ? { id: name, outcome: 'Failed', kind: ofSuites ? 'Group' : 'Test', message } : fileFailed(file, message)];
  });
}

/**
 * `FAIL FILE`, then `● SUITE › TEST` and its message for each. A run of more than 20 files lists all of them again, without the
 * names of their projects.
 */
function jestFailures(lines: readonly string[]): readonly Found[] {
  let [file, any, again]: [string | undefined, boolean, boolean] = [undefined, false, false];
  return lines.flatMap((line, at): Found[] => {
    if (isSumOf('Jest', line)) [any, again] = [false, false];
    if (/^Summary of all failing tests$/.test(line)) again = any;
    const [, path, name] = again ? [] : (runners.Jest.begin.exec(line) ?? []);
    any ||= path !== undefined;
    if (path !== undefined) file = path;
    else if (line.startsWith('PASS ')) file = undefined;
    if (file === undefined || name === undefined || name === 'Console') return [];
    const message = firstText(lines.slice(at + 1, at + 4));
    return [name === 'Test suite failed to run' ? fileFailed(file, message) : { id: `${file} > ${name}`, outcome: 'Failed', message }];
  });
}

/** `1) SUITE`, then the names within it, a line each and the last one with a colon, then the message. Only below the sum. */
function mochaFailures(lines: readonly string[]): readonly Found[] {
  let below = false;
  return lines.flatMap((line, at): Found[] => {
    if (isSumOf('Mocha', line)) below = true;
    const first = below ? runners.Mocha.begin.exec(line)?.[1] : undefined;
    if (first === undefined) return [];
    const rest = lines.slice(at, at + near).map((next) => next.trim());
    const last = rest.findIndex((next) => next.endsWith(':'));
    if (last === -1) return [];
    const id = [first, ...rest.slice(1, last + 1)].join(' > ').replace(/:$/, '');
    const isHook = /(?:^| > )"(?:before|after) (?:all|each)" hook\b/.test(id);
    return [{ id, outcome: 'Failed', kind: isHook ? 'Group' : 'Test', message: firstText(rest.slice(last + 1)) }];
  });
}

/** `rspec PLACE # DESCRIPTION` at the end; files that did not load before it. */
function rspecFailures(lines: readonly string[]): readonly Found[] {
  const told = new Map(lines.map((line, at) => [/^ +\d{1,9}\) (\S.*)$/.exec(line)?.[1], at] as const));
  return lines.flatMap((line, at): Found[] => {
    const [, id, file] = runners.RSpec.begin.exec(line) ?? [];
    const after = (from: number): readonly string[] => lines.slice(from + 1, from + near);
    if (file !== undefined) return [fileFailed(file, firstText(after(at).filter((next) => /Error\b/.test(next))))];
    if (id === undefined) return [];
    // The failing line of source stands first, then what it said.
    const [source = '', said = source] = after(told.get(id) ?? lines.length)
      .join('\n')
      .split(/\n\s*(?:\n|# \S+:\d+)/);
    return [{ id, outcome: 'Failed', message: said.trim().replaceAll(/\s+/g, ' ') }];
  });
}

/** `Failure:` or `Error:`, then `CLASS#METHOD`, a place, and its message; the class of a specification is words. */
function minitestFailures(lines: readonly string[]): readonly Found[] {
  return lines.flatMap((line, at): Found[] => {
    const id = runners.Minitest.begin.test(line) ? /^(?=.*:$)(\S.*?#\S.*?)(?: \[[^\][]*\])?:$/.exec(lines[at + 1] ?? '')?.[1] : undefined;
    if (id === undefined) return [];
    return [{ id, outcome: line.includes('Error') ? 'Errored' : 'Failed', message: firstText(lines.slice(at + 2, at + near)) }];
  });
}

/** `Failure: METHOD(CLASS)` or `Error: METHOD(CLASS): MESSAGE`, the place, lines of source with their numbers, and the message. */
function testUnitFailures(lines: readonly string[]): readonly Found[] {
  const { begin } = runners.TestUnit;
  return lines.flatMap((line, at): Found[] => {
    const [head = '', name, suite] = begin.exec(line) ?? [];
    if (name === undefined) return [];
    const isError = line.startsWith('Error');
    const said = lines.slice(at + 1, at + near).filter((next) => !/^\S.*:\d+:in |^ +(?:=> )?\d+: /.test(next));
    const message = isError ? line.slice(head.length) : firstText(said);
    return [{ id: `${suite}#${name}`, outcome: isError ? 'Errored' : 'Failed', message }];
  });
}

/** `There were 2 failures:`, then `1) CLASS::METHOD` and its message for each; the same of errors. */
function phpUnitFailures(lines: readonly string[]): readonly Found[] {
  let section = '';
  return lines.flatMap((line, at): Found[] => {
    section = /^There (?:was|were) \d+ (?:PHPUnit )?([a-z ]+?)s?:$/.exec(line)?.[1] ?? section;
    const id = section === 'failure' || section === 'error' ? runners.PHPUnit.begin.exec(line)?.[1] : undefined;
    if (id === undefined) return [];
    return [{ id, outcome: section === 'error' ? 'Errored' : 'Failed', message: firstText(lines.slice(at + 1, at + near)) }];
  });
}

/** `CLASS.METHOD -- Time elapsed: 0.2 s <<< FAILURE!` or, of older versions, `METHOD(CLASS)`; then its message. A sum for each module. */
function mavenFailures(lines: readonly string[]): readonly Found[] {
  return lines.flatMap((line, at): Found[] => {
    const id = runners.Maven.begin.exec(line)?.[1]?.replace(/^([\w$]+)\(([\w$.]+)\)/, '$2.$1');
    if (id === undefined) return [];
    const after = [...lines.slice(at + 1, at + 21), '['];
    const end = after.findIndex((next) => /^\s+at |^\[/.test(next));
    const message = after.slice(0, end).join('\n').trim();
    return [{ id, outcome: line.endsWith('ERROR!') ? 'Errored' : 'Failed', message }];
  });
}

/** The name of a test between two rules, wrapped and with its sections indented below it, then a failure of it. */
function catchFailures(lines: readonly string[]): readonly Found[] {
  let heading: string[] | null = null;
  let id = '';
  return lines.flatMap((line, at): Found[] => {
    if (/^-{79}$/.test(line)) {
      if (heading !== null) id = boundedName(heading.join(' '));
      heading = heading === null ? [] : null;
    } else if ((heading?.length === 0 || !line.startsWith(' ')) && (heading?.length ?? 0) < near) heading?.push(line);
    if (!runners.Catch2.begin.test(line) || heading !== null || id === '') return [];
    return [{ id, outcome: 'Failed', message: firstText(lines.slice(at + 1, at + near)) }];
  });
}

/** `TEST CASE:  NAME`, its sections, and a failure of it. */
function doctestFailures(lines: readonly string[]): readonly Found[] {
  let id = '';
  return lines.flatMap((line): Found[] => {
    id = /^TEST CASE: +(\S.*)$/.exec(line)?.[1] ?? id;
    const message = runners.Doctest.begin.exec(line)?.[1];
    return message === undefined || id === '' ? [] : [{ id, outcome: 'Failed', message }];
  });
}

/** Returns the reason that Maven or Gradle gives of a failed build: tests, a line of the compiler, or its own; undefined without one. */
export function failureOfBuild(lines: readonly string[]): string | undefined {
  return failureOfMaven(lines) ?? (lines.some((line) => /^BUILD FAILED in \d/.test(line)) ? failureOfGradle(lines) : undefined);
}

function failureOfGradle(lines: readonly string[]): string | undefined {
  const tests = lines.flatMap((line) => /^([^\s>][^>]{0,200} > \S.*) FAILED$/.exec(line.replace(/^(?:[\w$]+\.)+/, ''))?.[1] ?? []);
  const own = lines.indexOf('* What went wrong:') + 1;
  const reason = lines
    .slice(own, own + 2)
    .join(' ')
    .trim();
  return tests.length > 0
    ? `${tests.length} tests fail: ${tests.join(', ')}`
    : (lines.find((line) => /^(?:\S+\.\w+:\d+: error|e): /.test(line)) ?? (own > 0 ? reason : undefined));
}

function failureOfMaven(lines: readonly string[]): string | undefined {
  const from = lines.indexOf('[INFO] BUILD FAILURE');
  const compiling = lines.indexOf('[ERROR] COMPILATION ERROR :');
  return lines.slice((compiling === -1 ? from : compiling) + 1).find((line) => /^\[ERROR\] \S/.test(line) && from !== -1);
}

const cure = 'let the runner print every failure, and tests nothing that looks like one; or add a reporter for JUnit or TAP';

/**
 * Reads a runner with the reporter that it has by itself: failing tests have a name, the others are counted. A name may be printed
 * more than once, and two tests may have one name.
 */
export function parseSummed(format: SummedFormat, { stdout, stderr }: CommandOutput): ParsedResults {
  const collector = new Collector();
  const streams = [linesOf(stdout), linesOf(stderr)];
  const lines = streams.flatMap((stream) => (stream.ended ? stream.lines : stream.lines.slice(0, -1)));
  const { countsAll, failures } = runners[format];
  const groups = byPackage(format, lines);
  const found = [...groups].flatMap(([name, own]) => failures(own).map((one) => ({ ...one, id: boundedName(`${name} ${one.id}`.trim()) })));
  const distinct = new Map(found.map((one) => [one.id, one]));
  for (const one of distinct.values()) collector.add(one);
  collector.evidence = 'Counts';
  collector.files = filesOf(format, groups);
  const counts = countsOf(format, [...groups.values()].flat());
  if (counts === null || !ends(format, lines))
    collector.incomplete(failureOfMaven(lines) ?? 'no line counts the tests', 'read the output of the check');
  else {
    const isCounted = ({ kind = 'Test' }: Found): boolean => countsAll || kind === 'Test';
    const [bad, named] = [counts.failed + counts.errored, [...distinct.values()].filter(isCounted).length];
    collector.unnamed = { ...counts, failed: Math.max(0, bad - named), errored: 0 };
    const said = `${bad} tests fail and ${named} are named`;
    if (named > bad) collector.distrust('CountsDisagree', said, cure);
    else if (found.filter(isCounted).length < bad) collector.distrust('NamesMissing', said, cure);
  }
  if (streams.some(({ cut }) => cut)) collector.incomplete('the output is too long', 'print less');
  return collector.finish(format);
}
