import { type CommandOutput, type Counts, type Outcome, type ParsedResults } from '../results.ts';
import { crossCheck } from './agreement.ts';
import { Collector, type Found } from './collector.ts';
import { parseJUnit } from './junit.ts';
import { pytestSession, type Tally } from './pytestSession.ts';
import { summaryEntry, verboseEntry, type Entry, type PytestWord } from './pytestLine.ts';

const cure = 'add -rA or --junitxml=report.xml to the command';

/**
 * pytest: the JUnit file where there is one, else the short test summary (`-rA`), else verbose lines
 * (`-v`, xdist too). Named results must add up to the last line; otherwise only failures are named.
 */
export function parsePytest(output: CommandOutput): ParsedResults {
  const printed = parsePrinted(output);
  if ((output.files ?? []).length === 0) return printed;
  const file = parseJUnit(output);
  return { ...file, format: 'Pytest', problems: [...file.problems, ...crossCheck(file, printed)] };
}

function parsePrinted({ stdout }: CommandOutput): ParsedResults {
  const collector = new Collector();
  const session = pytestSession(stdout);
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
  return (
    sum('PASSED') === tally.passed &&
    sum('FAILED') + sum('SUBFAILED') === tally.failed &&
    sum('ERROR') === tally.errors &&
    sum('SKIPPED') === tally.skipped &&
    sum('XFAIL') === tally.xfailed &&
    sum('XPASS') === tally.xpassed &&
    !repeats(entries)
  );
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

const outcomes: Readonly<Record<PytestWord, Outcome>> = {
  PASSED: 'Passed',
  XPASS: 'Passed',
  FAILED: 'Failed',
  SUBFAILED: 'Failed',
  ERROR: 'Errored',
  SKIPPED: 'Skipped',
  XFAIL: 'Skipped',
};
const rank: Readonly<Record<Outcome, number>> = { Passed: 0, Skipped: 1, Failed: 2, Errored: 3 };

/** One result per id: a test that passes and then errors at its teardown errored. */
function merged(entries: readonly Entry[]): Found[] {
  const tests = new Map<string, Found>();
  const places: Found[] = [];
  for (const { id, word, times, kind, message } of entries) {
    const found: Found = { id, outcome: outcomes[word], kind, message };
    if (kind === 'Location') for (let time = 0; time < Math.min(times, 10_000); time += 1) places.push(found);
    else if (rank[found.outcome] >= rank[tests.get(id)?.outcome ?? 'Passed']) tests.set(id, found);
  }
  return [...tests.values(), ...places];
}
