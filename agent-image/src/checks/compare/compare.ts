import { failing, wholeRun, type ParsedResults, type TestResult, countTests, trusted } from '../parse/results.ts';
import {
  failingIds,
  type Baseline,
  type BaselineTest,
  judgeBaseline,
  mergeBaseline,
  wholeOf,
  badEnd,
  problemReasons,
  reason,
  testReasons,
} from './baseline.ts';
import type { Check } from '@agentfleet/protocol/api';
import type { BaselineJudgement, CheckClass, CheckRun, Reason, Verdict } from './types.ts';

type Lists = Readonly<Record<'newlyPassing' | 'stillFailing' | 'missing' | 'newlySkipped' | 'regressed' | 'added', string[]>>;

const noLists = (): Lists => ({ newlyPassing: [], stillFailing: [], missing: [], newlySkipped: [], regressed: [], added: [] });

/** Compares id by id; `whole` is the result's command as one test. */
function listsOf(baseline: Baseline, results: ParsedResults, whole: TestResult): Lists {
  const lists = noLists();
  const now = new Map(results.tests.map((test) => [test.id, test]));
  now.delete(wholeRun);
  const opened = openContainers(baseline, now);
  for (const [id, before] of baseline.tests) placeTest(lists, id, before, now.get(id), opened);
  placeAdded(lists, baseline, now, opened);
  if (baseline.evidence === 'Counts') placeUnnamed(lists, baseline, results);
  if (failingIds(baseline).includes(wholeRun)) (whole.outcome === 'Passed' ? lists.newlyPassing : lists.stillFailing).push(wholeRun);
  else if (baseline.run.state === 'Passing' && baseline.tests.size === 0 && whole.outcome !== 'Passed') lists.regressed.push(wholeRun);
  for (const list of Object.values(lists)) list.sort();
  return lists;
}

type Opened = ReadonlyMap<string, readonly TestResult[]>;

function placeTest(lists: Lists, id: string, before: BaselineTest, after: TestResult | undefined, opened: Opened): void {
  const inside = opened.get(id);
  if (after === undefined) {
    if (inside !== undefined) return placeContainer(lists, id, inside);
    // A folded skip is a place, not a test; a test that ran only sometimes may be missing.
    if (before.kind === 'Location' || !before.always) return;
    // With counts only, a test that no longer fails has no name.
    lists.missing.push(id);
  } else if (after.outcome === 'Skipped') {
    if (before.state !== 'Skipped' && !before.everSkipped) lists.newlySkipped.push(id);
  } else if (failing(after.outcome)) {
    if (before.state === 'Passing') lists.regressed.push(id);
    else lists.stillFailing.push(id);
  } else if (before.state === 'Failing' && !before.flaky) lists.newlyPassing.push(id);
}

/** A file or package that could not be loaded and now runs tests. */
function placeContainer(lists: Lists, id: string, inside: readonly TestResult[]): void {
  if (inside.some(({ outcome }) => failing(outcome))) lists.stillFailing.push(id);
  else if (inside.some(({ outcome }) => outcome === 'Passed')) lists.newlyPassing.push(id);
  else lists.newlySkipped.push(id);
}

const separators = [' > ', '::', '.', '/', ' '];

/** The tests that a container, which failed at the baseline, shows now. */
function openContainers({ tests }: Baseline, now: ReadonlyMap<string, TestResult>): Opened {
  const opened = new Map<string, readonly TestResult[]>();
  const fresh = [...now.values()].filter(({ id }) => !tests.has(id)).sort((a, b) => (a.id < b.id ? -1 : 1));
  for (const [id, { state, kind }] of tests) {
    if (state !== 'Failing' || now.has(id)) continue;
    const inside = separators.flatMap((separator) => startingWith(fresh, `${id}${separator}`));
    // node:test does not name files; a new test may come from any file that failed to load.
    const found = inside.length > 0 || kind !== 'Container' || !/\.[cm]?[jt]sx?$/.test(id) ? inside : fresh;
    if (found.length > 0) opened.set(id, found);
  }
  return opened;
}

/** The part of a sorted list that starts with `prefix`, found by halving: renaming all tests must not take quadratic time. */
function startingWith(sorted: readonly TestResult[], prefix: string): TestResult[] {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle]?.id ?? '') < prefix) low = middle + 1;
    else high = middle;
  }
  const found: TestResult[] = [];
  for (let at = low; sorted[at]?.id.startsWith(prefix) === true; at += 1) found.push(sorted[at] as TestResult);
  return found;
}

function placeAdded(lists: Lists, { tests, complete }: Baseline, now: ReadonlyMap<string, TestResult>, opened: Opened): void {
  // Folded skips are places, and places move with the code: more of them than before hide a test that ran, unless new
  // tests appeared.
  const places = (ids: Iterable<readonly [string, { readonly kind: TestResult['kind'] }]>): number =>
    [...ids].filter(([, { kind }]) => kind === 'Location').length;
  const more = opened.size === 0 && complete && places(now) > places(tests);
  for (const { id, outcome, kind } of now.values()) {
    if (tests.has(id)) continue;
    if (more && kind === 'Location' && outcome === 'Skipped') lists.newlySkipped.push(id);
    else lists.added.push(id);
    if (failing(outcome)) lists.stillFailing.push(id);
  }
}

/**
 * Passing tests without names: failing ones that vanished must have become passing ones, so there are
 * at least that many more, no more skips, and no fewer tests in all.
 */
function placeUnnamed(lists: Lists, baseline: Baseline, results: ParsedResults): void {
  const gone = lists.missing.splice(0);
  const { passed, skipped } = results.unnamed;
  const kindOf = (id: string): TestResult['kind'] | undefined => baseline.tests.get(id)?.kind;
  // A file that loads now may have skipped tests.
  const opened = gone.some((id) => kindOf(id) === 'Container');
  const namedSkips = results.tests.filter(({ outcome }) => outcome === 'Skipped').length;
  const skips = baseline.unnamed.skipped + [...baseline.tests.values()].filter(({ state }) => state === 'Skipped').length;
  if (!opened && skipped + namedSkips > skips) {
    lists.newlySkipped.push(`(${skipped + namedSkips - baseline.unnamed.skipped} more tests)`);
  }
  // A passing test that fails now has a name, and is in `added` until here.
  const named = lists.added.filter((id) => results.tests.some((test) => test.id === id && failing(test.outcome)));
  for (const id of named) {
    lists.added.splice(lists.added.indexOf(id), 1);
    lists.stillFailing.splice(lists.stillFailing.indexOf(id), 1);
    lists.regressed.push(id);
  }
  // A file or a suite that failed around its tests is none; they may have been counted already.
  const tests = gone.filter((id) => kindOf(id) === 'Test');
  const short = baseline.unnamed.passed + tests.length - passed - named.length;
  if (short > 0) lists.missing.push(...gone, `(${short} tests, not named)`);
  else lists.newlyPassing.push(...gone.filter((id) => baseline.tests.get(id)?.flaky === false));
  lists.missing.push(...lacking(baseline, results));
}

/** Files that have fewer tests than at the baseline: others, perhaps new ones, make up for none of them. */
function lacking({ files }: Baseline, { files: now = new Map<string, number>() }: ParsedResults): string[] {
  const short = [...files].map(([file, tests]) => [file, tests - (now.get(file) ?? 0)] as const).filter(([, tests]) => tests > 0);
  return short.map(([file, tests]) => (files.get(file) === 1 ? file : `${file} (${tests} tests, not named)`));
}

/**
 * Compares the run of a check after an attempt with one or more runs at snapshot 0.
 *
 * `FailThenPass`: every baseline test still runs, none is newly skipped, none went from passing to failing, at least
 * one went from failing to passing, and the exit code agrees. `Pass`: the same without the demand for a newly passing
 * test, and no test fails. `NoRegression`: the same without either; what failed may fail. Tests that differ between baseline runs are ignored.
 *
 * @example compare([run(1, 'not ok 1 - adds')], run(0, 'ok 1 - adds'), 'Auto'); // { proved: true, class: null,
 * newlyPassing: ['adds'], … }
 */
export function compare(baseline: readonly CheckRun[], result: CheckRun, expect: Check['expect']): Verdict {
  const judged = judgeBaseline(baseline, expect);
  const [first] = baseline;
  const verdict = (lists: Lists, cls: CheckClass | null, reasons: readonly Reason[]): Verdict => {
    return { proved: cls === null, class: cls, reasons, evidence: result.results.evidence, ...lists, flaky: judged.flaky };
  };
  if (!judged.accepted || first === undefined) return verdict(noLists(), judged.class ?? 'InvalidInput', judged.reasons);
  const before = mergeBaseline(first, baseline);
  const end = badEnd(result);
  const unusable = end === null ? [] : [reason(end.code, result.check, end.message, end.cure)];
  if (end?.class === 'Infrastructure') return verdict(noLists(), 'Infrastructure', unusable);
  const disputed = [...unusable, ...untrusted(before, result)];
  const lists = comparable(before, result.results)
    ? listsOf(comparedTo(before, result.results), result.results, wholeOf(result))
    : noLists();
  const reasons = [...disputed, ...verdictReasons(before, result, lists, judged.expect)];
  return verdict(lists, reasons.length === 0 ? null : 'CheckFailed', reasons);
}

/** A baseline without names was only an exit code: any result has at least as much information. */
const onlyExit = ({ format }: Baseline): boolean => format === 'Exit';

function comparable(baseline: Baseline, { format, source, evidence }: ParsedResults): boolean {
  const isSame = baseline.format === format && baseline.source === source;
  return onlyExit(baseline) || (isSame && (baseline.evidence === evidence || noNames(baseline)));
}

/** All named tests failed: the baseline does not show whether the runner names passing ones. */
const noNames = ({ tests }: Baseline): boolean => [...tests.values()].every(({ state }) => state === 'Failing');

/** Returns the baseline to compare with: where it does not show how much is named, the result decides. */
function comparedTo(baseline: Baseline, results: ParsedResults): Baseline {
  return !onlyExit(baseline) && noNames(baseline) ? { ...baseline, evidence: results.evidence } : baseline;
}

function untrusted(baseline: Baseline, { check, results }: CheckRun): Reason[] {
  const reasons = trusted(results) ? [] : problemReasons(check, results);
  if (!results.complete && reasons.length === 0)
    reasons.push(reason('Incomplete', check, 'its results are not complete', 'read the output of the check'));
  if (comparable(baseline, results)) return reasons;
  const code = baseline.format === results.format && baseline.source === results.source ? 'EvidenceChanged' : 'FormatChanged';
  const [was, is] = [baseline, results].map(({ format, source, evidence }) => `${format} from ${source} (${evidence})`);
  const why = `the baseline gave ${was}, the result gives ${is}`;
  return [...reasons, reason(code, check, why, 'leave the way in which results are reported as it was')];
}

function verdictReasons(baseline: Baseline, { check, results }: CheckRun, lists: Lists, expect: BaselineJudgement['expect']): Reason[] {
  const reasons = [
    ...testReasons('Missing', check, lists.missing, 'does not run any more', 'let every test run that ran at the baseline'),
    ...testReasons('NewlySkipped', check, lists.newlySkipped, 'is skipped and was not', 'let the test run'),
    ...testReasons('Regressed', check, lists.regressed, 'passed at the baseline and fails now', 'repair what the change broke'),
  ];
  if (expect === 'Pass') return [...reasons, ...passReasons(baseline, check, results, lists)];
  if (expect === 'NoRegression') {
    const fresh = new Set(lists.added);
    return [
      ...reasons,
      ...testReasons(
        'StillFails',
        check,
        lists.stillFailing.filter((id) => fresh.has(id)),
        'is new and fails',
        'make it pass',
      ),
    ];
  }
  if (lists.newlyPassing.length > 0) return reasons;
  const [example] = failingIds(baseline);
  return [...reasons, reason('NothingFixed', check, 'no test that failed at the baseline passes now', 'make a failing test pass', example)];
}

function passReasons(baseline: Baseline, check: string, results: ParsedResults, lists: Lists): Reason[] {
  const fails = lists.stillFailing.filter((id) => baseline.tests.get(id)?.flaky !== true);
  const reasons = testReasons('StillFails', check, fails, 'fails', 'make it pass');
  const { passed } = countTests(results);
  if (passed === 0 && !results.tests.some(({ outcome }) => failing(outcome))) {
    reasons.push(reason('NoTests', check, 'no test passed', 'correct the selection of tests in the command'));
  }
  return reasons;
}
