// agent-image, checks/parse: parser for the output of pytest. Imports no other folder of the worker.
import { linesOf, maxTests, splitLastWord, Collector, type Found } from './collector.ts';
import type { CommandOutput, Counts, Outcome, ParsedResults } from './results.ts';
import { crossCheck } from './agreement.ts';
import { parseJUnit } from './junit.ts';

/** Counts in pytest's last line. */
const noTally = { passed: 0, failed: 0, skipped: 0, errors: 0, xfailed: 0, xpassed: 0 };
type Tally = Readonly<typeof noTally>;

interface Ending {
  readonly at: number;
  readonly tally: Tally;
  readonly captured: boolean;
}

/**
 * Finds the parts of pytest's report (docs.pytest.org, "Managing pytest's output"). Text that tests printed is shown in
 * "Captured" sections and cannot be taken for the last line; a second last line outside of them is forged or from
 * another run, and is a fault.
 */
function pytestSession(stdout: string) {
  const { lines, ended } = linesOf(stdout);
  const endings = findEndings(ended ? lines : lines.slice(0, -1));
  const candidates = endings.filter(({ captured }) => !captured);
  const last = candidates.at(-1);
  const faults = candidates.length > 1 ? [`${candidates.length} last lines of pytest`] : [];
  const end = last?.at ?? lines.length;
  const header = lines.slice(0, end).findLastIndex((line) => /^=+ short test summary info =+$/.test(line));
  const progressEnd = lines.findIndex(
    (line, at) => at < end && /^=+ (?:ERRORS|FAILURES|PASSES|XPASSES|XFAILURES|warnings summary|short test summary info) =+$/.test(line),
  );
  return {
    // Lines before the sections of captured output.
    progress: lines.slice(0, progressEnd === -1 ? end : progressEnd),
    summary: header === -1 ? [] : lines.slice(header + 1, end),
    tally: last?.tally ?? null,
    // It ended before its last test (`-x`, `--maxfail`, `--stepwise`, errors of collection).
    stopped: lines.slice(Math.max(header, end - 8, 0), end).some((line) => line.length < 1000 && /^!!+ \S.* !!+$/.test(line)),
    faults,
  };
}

function findEndings(lines: readonly string[]): Ending[] {
  const endings: Ending[] = [];
  let captured = false;
  lines.forEach((line, at) => {
    if (/^-{3,} Captured (?:stdout|stderr|log) (?:setup|call|teardown) -{3,}$/.test(line)) captured = true;
    else if (/^(?:={3,} [A-Za-z][A-Za-z ]{0,60} ={3,}|_{3,} .{1,500} _{3,})$/.test(line)) captured = false;
    const tally = tallyOf(line);
    if (tally !== null) endings.push({ at, tally, captured });
  });
  return endings;
}

/** `=== 1 failed, 2 passed in 0.12s ===`, with `-q` without the rules; null for any other line. */
export function tallyOf(line: string): Tally | null {
  if (line.length > 400) return null;
  const text = line.replace(/^=+ /, '').replace(/ =+$/, '');
  const parts = /^(\S.*) in \d[\d.]*s(?: \([\d:, a-z]+\))?$/.exec(text)?.[1];
  if (parts === undefined) return null;
  const tally = { ...noTally };
  if (parts === 'no tests ran') return tally;
  for (const part of parts.split(', ')) {
    const count = /^(\d{1,9}) ([a-z][a-z ]{0,40})$/.exec(part);
    if (count === null) return null;
    const name = count[2] === 'error' ? 'errors' : (count[2] as keyof Tally);
    if (Object.hasOwn(tally, name)) tally[name] += Number(count[1]);
  }
  return tally;
}

const outcomes = {
  PASSED: 'Passed',
  XPASS: 'Passed',
  FAILED: 'Failed',
  SUBFAILED: 'Failed',
  ERROR: 'Errored',
  SKIPPED: 'Skipped',
  XFAIL: 'Skipped',
} as const;
type PytestWord = keyof typeof outcomes;

/** A result as pytest prints it, once per phase or subtest of a test. */
interface Entry {
  readonly id: string;
  readonly word: PytestWord;
  readonly times: number;
  readonly kind: 'Test' | 'Location' | 'Container';
  readonly message: string;
}

const words: readonly PytestWord[] = ['PASSED', 'FAILED', 'ERROR', 'SKIPPED', 'XFAIL', 'XPASS'];

/** A line of the short test summary: `FAILED tests/a.py::test_x[1] - assert 1 == 2`. */
function summaryEntry(line: string): Entry | null {
  const sub = /^SUBFAIL(?:ED)?[([]/.test(line) ? subtestEnd(line) : -1;
  if (sub !== -1) return { ...named(line.slice(sub)), word: 'SUBFAILED', times: 1 };
  const word = words.find((candidate) => line.startsWith(`${candidate} `));
  if (word === undefined) return null;
  const rest = line.slice(word.length + 1);
  const folded = /^\[(\d{1,6})\] (\S.*)$/.exec(rest);
  if (word === 'SKIPPED' && folded !== null) {
    return { id: (folded[2] ?? '').trim(), word, times: Number(folded[1]), kind: 'Location', message: '' };
  }
  const entry = named(rest);
  return { ...entry, word, times: 1, kind: word === 'ERROR' && !entry.id.includes('::') ? 'Container' : 'Test' };
}

/** Returns where the node id starts after `SUBFAILED(i=1) ` or `SUBFAILED[msg] (i=1) `. */
function subtestEnd(line: string): number {
  const path = /[)\]] (?=[^\s()[\]]+::)/.exec(line);
  return path === null ? -1 : path.index + 2;
}

/** Node id and message; a ` - ` inside the brackets of a parametrised id belongs to the id. */
function named(rest: string): Pick<Entry, 'id' | 'message' | 'kind'> {
  let depth = 0;
  for (let at = 0; at < rest.length; at += 1) {
    const char = rest[at];
    if (char === '[') depth += 1;
    else if (char === ']') depth -= 1;
    else if (depth <= 0 && char === ' ' && rest.startsWith(' - ', at)) {
      return { id: rest.slice(0, at), message: rest.slice(at + 3), kind: 'Test' };
    }
  }
  // Unbalanced brackets in an id: better a message in the id than a wrong id.
  return { id: rest, message: '', kind: 'Test' };
}

/** A line of `-v`: `tests/a.py::test_x PASSED   [ 50%]`, or xdist's `[gw0] [ 50%] PASSED tests/a.py::test_x`. */
function verboseEntry(line: string): Entry | null {
  const worker = /^\[gw\d+\] \[ *\d+%\] ([A-Z]+) (\S.*)$/.exec(line);
  if (worker !== null) {
    const word = words.find((candidate) => candidate === worker[1]);
    return word === undefined ? null : { id: (worker[2] ?? '').trim(), word, times: 1, kind: 'Test', message: '' };
  }
  if (!line.includes('::') || line.startsWith(' ')) return null;
  const text = withoutProgress(line.trimEnd());
  const plain = splitLastWord(text, words) ?? splitLastWord(withoutReason(text), words);
  if (plain === null || !plain[0].includes('::')) return null;
  return { id: plain[0].trim(), word: plain[1], times: 1, kind: 'Test', message: '' };
}

/** Takes `[ 50%]`, `[ 3/16]` or a time off the end. */
function withoutProgress(line: string): string {
  const open = line.lastIndexOf('[');
  if (open === -1 || !/^\[ *(?:\d+%|\d+\/\d+|[\d.]+m?s)\]$/.test(line.slice(open))) return line;
  return line.slice(0, open).trimEnd();
}

function withoutReason(line: string): string {
  if (!line.endsWith(')')) return line;
  for (const word of ['SKIPPED', 'XFAIL', 'XPASS']) {
    const at = line.indexOf(` ${word} (`);
    if (at !== -1) return line.slice(0, at + word.length + 1);
  }
  return line;
}

const cure = 'add -rA or --junitxml=report.xml to the command';

/**
 * pytest: the JUnit file where there is one, else the short test summary (`-rA`), else verbose lines
 * (`-v`, xdist too). Named results must add up to the last line; otherwise only failures are named.
 */
export function parsePytest(output: CommandOutput): ParsedResults {
  const printed = parsePrinted(output);
  if ((output.files ?? []).length === 0) return printed;
  const file = parseJUnit(output);
  return { ...file, format: 'Pytest', stopped: printed.stopped, problems: [...file.problems, ...crossCheck(file, printed)] };
}

function parsePrinted({ stdout }: CommandOutput): ParsedResults {
  const collector = new Collector();
  const session = pytestSession(stdout);
  collector.stopped = session.stopped;
  for (const fault of session.faults)
    collector.distrust('TwoSummaries', fault, 'run pytest once per check, without -s, or add --junitxml=report.xml');
  const short = session.summary.map(summaryEntry).filter((entry) => entry !== null);
  const verbose = session.progress.map(verboseEntry).filter((entry) => entry !== null);
  const { tally } = session;
  if (tally === null) {
    for (const found of merged(verbose.length > 0 ? verbose : short)) collector.add(found);
    collector.incomplete('the last line of pytest is missing', 'read the output of the check');
    return collector.finish('Pytest');
  }
  const whole = [short, [...verbose, ...short.filter(({ word }) => word === 'SUBFAILED')]].find((entries) => addsUp(entries, tally));
  for (const found of merged(whole ?? short.filter(failed))) collector.add(found);
  if (whole === undefined) nameFailuresOnly(collector, short.filter(failed), tally);
  return collector.finish('Pytest');
}

const failed = ({ word }: Entry): boolean => word === 'FAILED' || word === 'ERROR' || word === 'SUBFAILED';

/** Each kind of result is named as often as the last line counts it. Lines count, not ids. */
function addsUp(entries: readonly Entry[], tally: Tally): boolean {
  const sum = (word: PytestWord): number => entries.reduce((total, entry) => total + (entry.word === word ? entry.times : 0), 0);
  const named = [sum('PASSED'), sum('FAILED') + sum('SUBFAILED'), sum('SKIPPED'), sum('ERROR'), sum('XFAIL'), sum('XPASS')];
  return Object.values(tally).every((count, at) => count === named[at]) && !repeats(entries);
}

/** A test ends once, and may err at its teardown: a second end was printed by a test (`-s`). */
function repeats(entries: readonly Entry[]): boolean {
  const ended = entries.filter(({ word, kind }) => word !== 'ERROR' && word !== 'SUBFAILED' && kind === 'Test');
  return new Set(ended.map(({ id }) => id)).size < ended.length;
}

function nameFailuresOnly(collector: Collector, named: readonly Entry[], tally: Tally): void {
  const errors = named.filter(({ word }) => word === 'ERROR').length;
  const failures = named.length - errors;
  collector.evidence = 'Counts';
  collector.unnamed = countsOf(tally, failures, errors);
  if (failures > tally.failed || errors > tally.errors) {
    collector.distrust('CountsDisagree', 'more failures are named than the last line counts', cure);
  } else if (failures < tally.failed || errors < tally.errors) {
    collector.distrust('NamesMissing', 'not every failing test is named', cure);
  } else collector.note('NamesMissing', 'passing tests are counted, not named', cure);
}

function countsOf(tally: Tally, failures: number, errors: number): Counts {
  return {
    passed: tally.passed + tally.xpassed,
    skipped: tally.skipped + tally.xfailed,
    failed: Math.max(0, tally.failed - failures),
    errored: Math.max(0, tally.errors - errors),
  };
}

const rank: Readonly<Record<Outcome, number>> = { Passed: 0, Skipped: 1, Failed: 2, Errored: 3 };

/** Merges to one result per id: a test that passes and then errors at its teardown errored. */
function merged(entries: readonly Entry[]): Found[] {
  const tests = new Map<string, Found>();
  const places: Found[] = [];
  for (const { id, word, times, kind, message } of entries) {
    const found: Found = { id, outcome: outcomes[word], kind, message };
    if (kind === 'Location') for (let time = 0; time < Math.min(times, 10_000) && places.length <= maxTests; time += 1) places.push(found);
    else if (rank[found.outcome] >= rank[tests.get(id)?.outcome ?? 'Passed']) tests.set(id, found);
  }
  return [...tests.values(), ...places];
}
