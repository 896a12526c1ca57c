import { countTests, failing, trusted, type ParsedResults } from '../results.ts';
import { failingIds, judgeBaseline, mergeBaseline, wholeOf, type Baseline } from './baseline.ts';
import { badEnd } from './end.ts';
import { listsOf, type Lists } from './lists.ts';
import { problemReasons, reason, testReasons } from './reasons.ts';
import type { CheckClass, CheckRun, Expect, Reason, Verdict } from './types.ts';

/**
 * What the run of a check after an attempt proves, against one or more runs at snapshot 0.
 *
 * `FailThenPass`: every baseline test still runs, none is newly skipped, none went from passing to
 * failing, at least one went from failing to passing, and the exit code agrees. `Pass`: the same but
 * for the last but one, and no test fails. Tests that differ between baseline runs count for nothing.
 *
 * @example
 * compare([run(1, 'not ok 1 - adds')], run(0, 'ok 1 - adds'), 'Auto');
 * // { proved: true, class: null, newlyPassing: ['adds'], … }
 */
export function compare(baseline: readonly CheckRun[], result: CheckRun, expect: Expect): Verdict {
  const judged = judgeBaseline(baseline, expect);
  const [first] = baseline;
  if (!judged.accepted || first === undefined) return verdict(result, none, judged.class ?? 'InvalidInput', judged.reasons, judged.flaky);
  const before = mergeBaseline(first, baseline);
  const end = badEnd(result);
  const unusable = end === null ? [] : [reason(end.code, result.check, end.message, end.cure)];
  if (end?.class === 'Infrastructure') return verdict(result, none, 'Infrastructure', unusable, judged.flaky);
  const disputed = [...unusable, ...untrusted(before, result)];
  const lists = comparable(before, result.results) ? listsOf(comparedTo(before, result.results), result.results, wholeOf(result)) : none;
  const reasons = [...disputed, ...verdictReasons(before, result, lists, judged.expect)];
  return verdict(result, lists, reasons.length === 0 ? null : 'CheckFailed', reasons, judged.flaky);
}

const none: Lists = { newlyPassing: [], stillFailing: [], missing: [], newlySkipped: [], regressed: [], added: [] };

function verdict(
  { results }: CheckRun,
  lists: Lists,
  cls: CheckClass | null,
  reasons: readonly Reason[],
  flaky: readonly string[],
): Verdict {
  return { proved: cls === null, class: cls, reasons, evidence: results.evidence, ...lists, flaky };
}

/** A baseline without names was only an exit code: any result says at least as much. */
const onlyExit = ({ format }: Baseline): boolean => format === 'Exit';

function comparable(baseline: Baseline, results: ParsedResults): boolean {
  if (onlyExit(baseline)) return true;
  return (
    baseline.format === results.format &&
    baseline.source === results.source &&
    (baseline.evidence === results.evidence || noNames(baseline))
  );
}

/** No test that did not fail had a name: whether the runner names those that pass was not to be seen. */
const noNames = ({ tests }: Baseline): boolean => [...tests.values()].every(({ state }) => state === 'Failing');

/** Where the baseline could not show how much is named, the result's way of naming counts. */
function comparedTo(baseline: Baseline, results: ParsedResults): Baseline {
  if (onlyExit(baseline)) return baseline;
  return noNames(baseline) ? { ...baseline, evidence: results.evidence } : baseline;
}

function untrusted(baseline: Baseline, { check, results }: CheckRun): Reason[] {
  const reasons = trusted(results) ? [] : problemReasons(check, results);
  if (!results.complete && reasons.length === 0)
    reasons.push(reason('Incomplete', check, 'its results are not complete', 'read the output of the check'));
  if (comparable(baseline, results)) return reasons;
  const code = baseline.format === results.format && baseline.source === results.source ? 'EvidenceChanged' : 'FormatChanged';
  const was = `${baseline.format} from ${baseline.source} (${baseline.evidence})`;
  const is = `${results.format} from ${results.source} (${results.evidence})`;
  return [
    ...reasons,
    reason(code, check, `the baseline gave ${was}, the result gives ${is}`, 'leave the way in which results are reported as it was'),
  ];
}

function verdictReasons(baseline: Baseline, { check, results }: CheckRun, lists: Lists, expect: 'Pass' | 'FailThenPass'): Reason[] {
  const reasons = [
    ...testReasons('Missing', check, lists.missing, 'does not run any more', 'let every test run that ran at the baseline'),
    ...testReasons('NewlySkipped', check, lists.newlySkipped, 'is skipped and was not', 'let the test run'),
    ...testReasons('Regressed', check, lists.regressed, 'passed at the baseline and fails now', 'repair what the change broke'),
  ];
  if (expect === 'Pass') return [...reasons, ...passReasons(baseline, check, results, lists)];
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
