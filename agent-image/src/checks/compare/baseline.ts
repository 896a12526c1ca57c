import { wholeRun, failing, trusted, type Counts, type Outcome, type ParsedResults, type TestResult } from '../parse/results.ts';
import type { Check } from '@agentfleet/protocol/api';
import type { CheckClass, CheckRun, ReasonCode, BaselineJudgement, Reason } from './types.ts';

const maxPerCode = 10;

/** A reason names the check and, where there is one, the test; the message has the fault, the cure the remedy. */
export function reason(code: ReasonCode, check: string, message: string, cure: string, test?: string): Reason {
  return { code, check, ...(test !== undefined && { test }), message: `${check === '' ? 'check' : `check ${check}`}: ${message}`, cure };
}

export function problemReasons(check: string, results: ParsedResults): Reason[] {
  const problems = results.problems.filter(({ severity }) => severity === 'Distrust');
  return problems.map(({ code, message, cure }) => reason(code, check, message, cure));
}

/** Returns one reason per test, at most ten, and one more with the number left out. */
export function testReasons(code: ReasonCode, check: string, tests: readonly string[], what: string, cure: string): Reason[] {
  const reasons = tests
    .slice(0, maxPerCode)
    .map((test) => reason(code, check, `${test === wholeRun ? 'the command' : test} ${what}`, cure, test));
  if (tests.length > maxPerCode) reasons.push(reason(code, check, `${tests.length - maxPerCode} more tests ${what}`, cure));
  return reasons;
}

type BadEnd = Pick<Reason, 'code' | 'message' | 'cure'> & { readonly class: CheckClass };

/** Reasons outside of the command. A quota or process limit is the command's own. */
const outside = new Set(['Cancelled', 'Shutdown', 'SupervisorDied']);

/** No resources to start a process with: not the command's fault. */
const transient = new Set(['EAGAIN', 'ENOMEM', 'EMFILE', 'ENFILE', 'EIO', 'ENOSPC', 'ETIMEDOUT', 'ECONNRESET', 'EPIPE']);

/**
 * Returns the reason why the run did not end by itself; null when it did. Out of memory counts against the change: runs that are
 * never charged could go on for ever.
 */
export function badEnd({ end, results }: CheckRun): BadEnd | null {
  if (end.interrupted !== undefined) return interrupted(`the run was cut off (${end.interrupted})`);
  if (end.error !== undefined) {
    const message = `the command could not be started: ${end.error.code} ${end.error.message}`;
    return transient.has(end.error.code) ? interrupted(message) : notRunnable(message);
  }
  if (end.timedOut)
    return failed('TimedOut', 'the command ran out of time', 'raise timeoutSeconds of the check, or find what does not end');
  if (end.oom === true)
    return failed('OutOfMemory', 'the command ran out of memory', 'raise the memory of the sandbox, or find what takes it');
  if (end.killed !== null) {
    if (outside.has(end.killed)) return interrupted(`the run was ended (${end.killed})`);
    return failed('Killed', `the command was ended (${end.killed})`, 'raise the limit of the sandbox, or find what exceeds it');
  }
  if (end.exitCode === null) return failed('Killed', `signal ${end.signal ?? 'unknown'} ended the command`, 'read the output of the check');
  if ((end.exitCode === 126 || end.exitCode === 127) && results.tests.every(({ id, kind }) => id === wholeRun || kind === 'Container')) {
    return notRunnable(`exit code ${end.exitCode}: the command was not ${end.exitCode === 127 ? 'found' : 'executable'}`);
  }
  return null;
}

const interrupted = (message: string): BadEnd => ({ code: 'Interrupted', class: 'Infrastructure', message, cure: 'it is run again' });

const failed = (code: ReasonCode, message: string, cure: string): BadEnd => ({ code, class: 'CheckFailed', message, cure });

const notRunnable = (message: string): BadEnd => ({
  code: 'NotRunnable',
  class: 'InvalidInput',
  message,
  cure: 'install it in the image or by setup, and name it as it is found from the workspace',
});

/** State of a test over all baseline runs. */
export interface BaselineTest {
  readonly state: 'Passing' | 'Failing' | 'Skipped';
  readonly kind: TestResult['kind'];
  /** Differs between runs, or is not in all of them. What fails each time that it runs is not: a run that fails may stop before it. */
  readonly flaky: boolean;
  /** It was in every run. */
  readonly always: boolean;
  readonly everSkipped: boolean;
}

export interface Baseline extends Pick<ParsedResults, 'format' | 'source' | 'evidence'> {
  readonly tests: ReadonlyMap<string, BaselineTest>;
  /** The command as a whole failed in every run, or in none. */
  readonly run: BaselineTest;
  /** False when a run was cut off or stopped early: more tests may exist. */
  readonly complete: boolean;
  /** The least of all runs. */
  readonly unnamed: Counts;
  /** Tests of each file that every run has, the least of all. */
  readonly files: ReadonlyMap<string, number>;
}

const stateOf = (outcome: Outcome): BaselineTest['state'] => (failing(outcome) ? 'Failing' : outcome === 'Passed' ? 'Passing' : 'Skipped');

/** Merges the runs of one check at snapshot 0; `runs` is not empty. */
export function mergeBaseline(first: CheckRun, runs: readonly CheckRun[]): Baseline {
  const named = runs.flatMap(({ results }) => results.tests).filter(({ id }) => id !== wholeRun);
  const seen = Map.groupBy(named, ({ id }) => id);
  const { format, source, evidence } = first.results;
  const complete = runs.every(({ results }) => results.complete && !results.stopped);
  const toEnd = (evidence === 'Counts' && complete) || runs.some((run) => wholeOf(run).outcome === 'Passed');
  const tests = new Map([...seen].map(([id, found]) => [id, merged(found, runs.length, toEnd)] as const));
  const least = (key: keyof Counts): number => Math.min(...runs.map(({ results }) => results.unnamed[key]));
  return {
    tests,
    run: merged(runs.map(wholeOf), runs.length, true),
    complete,
    unnamed: { passed: least('passed'), failed: least('failed'), skipped: least('skipped'), errored: least('errored') },
    files: leastOf(runs.map(({ results }) => results.files ?? new Map<string, number>())),
    format,
    source,
    evidence,
  };
}

function leastOf([first = new Map(), ...others]: readonly ReadonlyMap<string, number>[]): ReadonlyMap<string, number> {
  const least = [...first].map(([file, tests]) => [file, Math.min(tests, ...others.map((one) => one.get(file) ?? 0))] as const);
  return new Map(least.filter(([, tests]) => tests > 0));
}

/** @param toEnd whether a test that does not fail in some run may be taken for one that can pass */
function merged(found: readonly TestResult[], runs: number, toEnd: boolean): BaselineTest {
  const states = new Set(found.map(({ outcome }) => stateOf(outcome)));
  const always = found.length === runs;
  const state = states.has('Failing') ? 'Failing' : states.has('Passing') ? 'Passing' : 'Skipped';
  const differs = states.size > 1 || !always;
  const flaky = differs && (state !== 'Failing' || states.has('Passing') || toEnd);
  return { state, kind: found[0]?.kind ?? 'Test', flaky, always, everSkipped: states.has('Skipped') };
}

/** The command as one test. */
export function wholeOf(run: CheckRun): TestResult {
  const passes = badEnd(run) === null && run.end.exitCode === 0;
  return { id: wholeRun, outcome: passes ? 'Passed' : 'Failed', kind: 'Test' };
}

/**
 * Ids that fail in every run; the whole run when no test does (a crash, a time-out, a lint step after the tests, a runner that
 * stops at the first failure of a random order).
 */
export function failingIds({ tests, run }: Baseline): string[] {
  const fails = ({ state, flaky, always, everSkipped }: BaselineTest): boolean => state === 'Failing' && !flaky && always && !everSkipped;
  const ids = [...tests].filter(([, test]) => fails(test)).map(([id]) => id);
  if (ids.length > 0) return ids.sort();
  return fails(run) ? [wholeRun] : [];
}

/**
 * Judges a check before any budget is spent. `InvalidInput` is the spec's fault: a command that cannot run, untrusted
 * results,  or a check that passes although it has to fail first.
 *
 * @param runs one or more runs at snapshot 0; tests that differ between them are flaky
 */
export function judgeBaseline(runs: readonly CheckRun[], expect: Check['expect']): BaselineJudgement {
  const [first] = runs;
  const refused = (reasons: readonly Reason[], cls: CheckClass): BaselineJudgement => {
    const format = first?.results.format ?? 'Exit';
    return { accepted: false, class: cls, expect: 'FailThenPass', format, failing: [], flaky: [], reasons };
  };
  if (first === undefined)
    return refused([reason('NoBaseline', '', 'there is no baseline run', 'run the checks at snapshot 0 first')], 'Infrastructure');
  for (const run of runs) {
    const end = badEnd(run);
    if (end !== null && end.class !== 'CheckFailed') return refused([reason(end.code, run.check, end.message, end.cure)], end.class);
  }
  const reasons = runs.flatMap((run) => unbelievable(run, first));
  if (reasons.length > 0) return refused(reasons, 'InvalidInput');
  const baseline = mergeBaseline(first, runs);
  const fails = failingIds(baseline);
  const flaky = [...baseline.tests].filter(([, test]) => test.flaky).map(([id]) => id);
  if (baseline.run.flaky) flaky.push(wholeRun);
  const effective = expect === 'Auto' ? (fails.length > 0 ? 'FailThenPass' : 'Pass') : expect;
  const failing = effective === 'NoRegression' ? [] : fails;
  const judged = { expect: effective, format: first.results.format, failing, flaky: flaky.sort() };
  if (effective === 'NoRegression' && fails.includes(wholeRun) && baseline.tests.size === 0)
    return refused([namesNothing(first.check)], 'InvalidInput');
  if (effective !== 'FailThenPass' || fails.length > 0) return { accepted: true, class: null, ...judged, reasons: [] };
  return { accepted: false, class: 'InvalidInput', ...judged, reasons: [nothingFails(first.check, flaky)] };
}

/** Without names of tests anything that fails is as good as what failed before. */
function namesNothing(check: string): Reason {
  const message = 'it fails at the baseline and names no test that fails, so that nothing can be compared';
  return reason('NoTests', check, message, 'set the format of the check, let it name its tests, or set expect: Auto');
}

function nothingFails(check: string, flaky: readonly string[]): Reason {
  const passes = 'it already passes at the baseline, and has to fail first';
  if (flaky.length === 0) return reason('AlreadyPasses', check, passes, 'add a test that shows what is missing, or set expect: Pass');
  const differ = `no test fails in every baseline run; ${flaky.length} differ between runs`;
  return reason('OnlyFlaky', check, differ, 'make the failing test repeatable', flaky[0]);
}

/** A baseline may fail as a whole; it must not hide failures, show forged results or change its format. */
function unbelievable(run: CheckRun, first: CheckRun): Reason[] {
  const { results, check } = run;
  const formats = `one run gives ${first.results.format}, another ${results.format}`;
  if (results.format !== first.results.format || results.source !== first.results.source)
    return [reason('FormatChanged', check, formats, 'set the format of the check')];
  if (results.evidence !== first.results.evidence)
    return [reason('EvidenceChanged', check, 'one run names its tests and another does not', 'let the runner name every test')];
  if (trusted(results)) return [];
  const failed = badEnd(run) !== null || run.end.exitCode !== 0;
  const tolerated = failed ? new Set(['ExitDisagrees', 'Incomplete', 'BailedOut', 'NamesMissing']) : new Set<string>();
  return problemReasons(check, results).filter(({ code }) => !tolerated.has(code));
}
