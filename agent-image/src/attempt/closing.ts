import { KeeperRefusal } from '@agentfleet/keeper/client';
import { passedOn, type Run, type FailureClass, type Check, type Reason } from '@agentfleet/protocol/api';
import { countTests } from '../checks/index.ts';
import { shownId } from './baseline.ts';
import { namedIds, withoutCommand, type Ran, type Baseline, type JudgedCheck, type Proof } from './checkRun.ts';
import { AttemptFailure, throwIfSuperseded } from '../base/failure.ts';
import type { Outcome, AttemptContext, Report } from './ports.ts';
import { deadline } from '@agentfleet/kube';
import type { SnapshotRecord } from '@agentfleet/protocol/keeper';
import {
  assertPatchKept,
  withoutFiles,
  answerArtifact,
  shownAnswer,
  auditRoot,
  json,
  keep,
  patch,
  revertScript,
  shownPatch,
  trace,
  type Keeping,
  type KeptFile,
  answerFile,
  isAnswer,
  keeperOf,
  lateMs,
} from './artifacts.ts';
import type { Meter } from './meter.ts';
import type { Prepared, Scope } from './scope.ts';
import { reviewDigest } from './notes.ts';
import { labelled, labels } from './prepare.ts';
import type { Progress } from './progress.ts';

type CheckResult = NonNullable<NonNullable<Run['outcome']>['checks']>[number];

/** Counts of each check for the status; an errored test counts as failed. */
export function checkResults(runs: readonly Ran[]): CheckResult[] {
  return runs.slice(0, 16).map(({ check, results, millis }) => {
    const { passed, failed, errored, skipped } = countTests(results);
    return { name: check, passed, failed: failed + errored, skipped, seconds: Math.ceil(millis / 1000) };
  });
}

/** The outcome of an attempt that something ended. What the keeper refuses is the infrastructure's, the rest is our fault. */
export function failed(error: unknown): Outcome {
  if (error instanceof AttemptFailure) return outcome(error.failureClass, error.reason, error.message);
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof KeeperRefusal) return outcome('Infrastructure', passedOn(reasonOf(error.code)), message);
  return outcome('AgentError', 'UnexpectedError', `${message}; see the log of the worker`);
}

/** `AF_STORE_FULL` → `KeeperStoreFull`. */
function reasonOf(code: string): string {
  const words = code.replace(/^AF_/, '').toLowerCase().split('_');
  return `Keeper${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}`;
}

function outcome(cls: NonNullable<Outcome['class']>, reason: Reason, message: string): Outcome {
  return { result: 'Failed', class: cls, reason, message };
}

/** Facts that an attempt collects, filled as its phases end; read when it ends, however it ends. */
export interface Ledger {
  meter?: Meter;
  progress?: Progress;
  prepared?: Prepared;
  baseline?: Baseline;
  result?: SnapshotRecord;
  discard?: readonly string[];
  /** The model's answer in words; set when it hands in, read when the attempt ends. */
  answer?: string;
  readonly proofs: Proof[];
  /** Verdicts of people on the result, one for each accepted check of type Review. */
  readonly reviews: Ran[];
  /** Newest snapshot at which all checks passed, of this attempt or an earlier one. */
  green?: string;
}

/**
 * Stores what outlives the sandbox and reports it. For a success it tries until it is asked to end: nothing is Succeeded
 * whose patch is lost. Otherwise it gives up after a minute and leaves out what could not be stored.
 */
export async function close(context: AttemptContext, ledger: Ledger, outcome: Outcome): Promise<Outcome> {
  // The usage of the last step is reported too: the budget counts over all attempts.
  context.report({
    ...(ledger.meter !== undefined && { usage: ledger.meter.usage() }),
    ...ledger.progress?.end(outcome.result),
  });
  const outer = context.signal.aborted ? new AbortController().signal : context.signal;
  using limit = outcome.result === 'Succeeded' ? null : deadline(context.clock, lateMs, outer);
  const keeping: Keeping = { context, signal: limit?.signal ?? outer };
  return await closeWithin(keeping, ledger, outcome);
}

async function closeWithin(keeping: Keeping, ledger: Ledger, outcome: Outcome): Promise<Outcome> {
  const { context, signal } = keeping;
  const ended = outcome.result === 'Stopped' ? outcome : { ...outcome, checks: checkResults(runsOf(ledger)) };
  try {
    await keeperOf(keeping, (keeper) => keeper.note('Outcome', noteOf(context, ended, ledger)));
    const root = await auditRoot(keeping);
    const snapshots = await summary(keeping, ledger);
    const shown = await shownChange(keeping, ledger);
    const kept = await keep(keeping, filesOf(keeping, ledger, ended));
    if (outcome.result === 'Succeeded') signal.throwIfAborted();
    const answer = ledger.answer === undefined ? {} : { answer: shownAnswer(ledger.answer) };
    context.report({ ...shown, ...answer, snapshots, auditRoot: root, artifacts: [...kept.artifacts] });
    if (outcome.result === 'Succeeded') assertPatchKept(kept);
    const left = withoutFiles(kept);
    return left === '' ? ended : { ...ended, message: `${ended.message ?? ''}${left}` };
  } catch (error) {
    throwIfSuperseded(error);
    if (outcome.result !== 'Stopped') context.signal.throwIfAborted();
    if (outcome.result === 'Succeeded') return failed(error);
    context.log.warn('the end of an attempt could not be recorded', { error: error instanceof Error ? error.message : String(error) });
    return ended;
  }
}

function runsOf({ proofs, reviews, baseline }: Ledger): readonly Ran[] {
  if (proofs.length + reviews.length > 0) return [...proofs.map(({ run }) => run), ...reviews];
  return baseline?.checks.flatMap((judged) => judged.baseline.slice(0, 1)) ?? [];
}

function filesOf(keeping: Keeping, ledger: Ledger, outcome: Outcome): readonly KeptFile[] {
  const from = ledger.prepared?.initial.id;
  const change = from === undefined ? [] : [patch(keeping, from, ledger.result?.id, ledger.baseline?.protectedSet.derived)];
  // A rollback makes a script of its own.
  const stays = outcome.result !== 'Failed' || keeping.context.task.spec.rollback.whenFailed === 'Keep';
  const undo = from !== undefined && stays ? [revertScript(keeping, from, ledger.result?.id)] : [];
  const words = ledger.answer === undefined ? [] : [answerArtifact(ledger.answer)];
  return [...words, ...change, ...undo, json('report.json', reportOf(keeping.context, ledger, outcome)), trace(keeping)];
}

async function shownChange(keeping: Keeping, { prepared, baseline, result }: Ledger): Promise<Report> {
  if (prepared === undefined) return {};
  const { unified } = await keeperOf(keeping, (keeper) => keeper.diff(prepared.initial.id, result?.id));
  return { patch: shownPatch(unified, baseline?.protectedSet.derived) };
}

/** The snapshots as the status reports them. */
export async function summary(keeping: Keeping, { green }: Pick<Ledger, 'green'>): Promise<NonNullable<Run['snapshots']>> {
  const snapshots = await keeperOf(keeping, (keeper) => keeper.snapshots());
  const initial = labelled(snapshots, labels.initial)?.id;
  return { ...(initial !== undefined && { initial }), ...(green !== undefined && { lastGreen: green }) };
}

function noteOf(
  { assignment }: AttemptContext,
  { result, reason, class: cls, checks = [] }: Outcome,
  { proofs }: Ledger,
): Readonly<Record<string, unknown>> {
  const ends = checks.map(({ name, passed, failed, skipped }) => {
    const verdict = proofs.find(({ judged }) => judged.check.name === name)?.verdict;
    const delta = verdict && { newlyPassing: namedIds(verdict.newlyPassing), stillFailing: namedIds(verdict.stillFailing) };
    return { name, passed, failed, skipped, ...delta };
  });
  return { attempt: assignment.attempt, result, reason, ...(cls !== undefined && { class: cls }), checks: ends };
}

/** Content of `report.json`: each check before and after, test by test where it is known. */
function reportOf({ task, assignment }: AttemptContext, ledger: Ledger, outcome: Outcome): unknown {
  const { baseline, proofs, reviews, prepared, result } = ledger;
  return {
    format: 'agentfleet.dev/report/v1',
    task: { namespace: task.metadata.namespace, name: task.metadata.name, uid: task.metadata.uid },
    attempt: assignment.attempt,
    goal: task.spec.goal,
    outcome,
    snapshots: { initial: prepared?.initial ?? null, result: result ?? null },
    checks: (baseline?.checks ?? []).map(({ check, judgement, baseline }) => {
      const proof = proofs.find(({ judged }) => judged.check.name === check.name);
      return {
        name: check.name,
        type: check.type,
        ...(check.command !== undefined && { command: check.command }),
        ...(check.path !== undefined && { path: check.path }),
        expect: judgement.expect,
        failingBefore: judgement.failing,
        flaky: judgement.flaky,
        before: checkResults(baseline.slice(0, 1))[0] ?? null,
        after: proof === undefined ? null : (checkResults([proof.run])[0] ?? null),
        newlyPassing: proof?.verdict.newlyPassing ?? [],
        reasons: proof?.verdict.reasons ?? [],
      };
    }),
    reviews: (baseline?.reviews ?? []).map(({ name }) => ({ name, said: reviews.find(({ check }) => check === name)?.output ?? null })),
  };
}

/** Facts that the end of the work shows beside checks that all hold. */
export interface Shown {
  /** The tree is another one than snapshot 0. */
  readonly changed: boolean;
  readonly answer: boolean;
  /** A person accepted the result; false also where no one was asked. */
  readonly review: boolean;
}

/** Outcome of an attempt whose checks all hold in a fresh container. */
type Conclusion =
  | {
      readonly result: 'Succeeded';
      readonly reason: 'ChecksHold' | 'ReviewAccepted' | 'AnswerAccepted' | 'AlreadyHolds';
      readonly message: string;
    }
  | { readonly result: 'Failed'; readonly class: FailureClass & 'Unproved'; readonly reason: 'NothingProved'; readonly message: string };

type Judged = Pick<JudgedCheck, 'judgement'> & { readonly check: Pick<JudgedCheck['check'], 'type' | 'path' | 'expect'> };

/**
 * Decides the outcome of a result on which all checks hold. Checks that failed at snapshot 0 prove the change by themselves. Those
 * that held there prove nothing: then a person has to have accepted a change, or the answer that a check asks for has to be there.
 * With a check that is to pass and nothing more (`expect: Pass`), or not to become worse, its author states that this is enough. Pure.
 *
 * @param checks all checks but reviews, as they were judged at snapshot 0
 */
export function conclusion(checks: readonly Judged[], { changed, answer, review }: Shown): Conclusion {
  const failed = checks.filter(({ judgement }) => judgement.failing.length > 0);
  const asked = checks.some(({ check }) => isAnswer(check));
  if (failed.length > 0) {
    if (review) return succeeded('ReviewAccepted', 'a person accepted the result');
    if (answer && failed.every(({ check }) => isAnswer(check))) return succeeded('AnswerAccepted', `the answer is ${answerFile}`);
    return succeeded('ChecksHold', null);
  }
  if (changed && review) return succeeded('ReviewAccepted', 'a person accepted the result');
  if (answer && asked) return succeeded('AnswerAccepted', `the answer is ${answerFile}`);
  if (checks.length > 0 && checks.every(({ check }) => check.expect !== 'Auto'))
    return changed ? succeeded('ChecksHold', null) : succeeded('AlreadyHolds', 'nothing was changed: they held at snapshot 0 already');
  return { result: 'Failed', class: 'Unproved', reason: 'NothingProved', message: unproved(changed) };
}

function succeeded(reason: Exclude<Conclusion, { result: 'Failed' }>['reason'], how: string | null): Conclusion {
  const words = 'all checks hold in a fresh container';
  return { result: 'Succeeded', reason, message: how === null ? words : `${words}; ${how}` };
}

function unproved(changed: boolean): string {
  const offered = changed ? 'the change is offered as artifact change.patch' : 'nothing was changed';
  const cures = `a check of type Review, of type Artifact (${answerFile} for an answer), or one that fails until the goal is reached; or with expect: Pass where it is enough that the checks hold`;
  return `all checks held at snapshot 0 already, so that they prove nothing; ${offered}; create the task again with ${cures}`;
}

/** Reason of a failure after which the model may try again: a person said what is wrong. */
export const reviewRejected = 'ReviewRejected';

/** The result that a person is asked about. */
export interface Reviewed {
  readonly prepared: Prepared;
  readonly result: SnapshotRecord;
  readonly paths: readonly string[];
  readonly derived: (path: string) => boolean;
  readonly answer: string | undefined;
}

/**
 * Asks a person to accept the result, with the change as evidence; the clocks of the task stand still. Each tree is asked
 * about once: its decision holds for every worker and attempt.
 *
 * @throws AttemptFailure ApprovalRejected, by a person with their reason, or because no answer came in time
 */
export async function review(scope: Scope, check: Check, about: Reviewed): Promise<Ran> {
  const { approvals, context } = scope;
  const { paths, result } = about;
  const named = paths.slice(0, 5).join(', ');
  const files = paths.length === 1 ? '1 path' : `${paths.length} paths`;
  const summary = `accept the result of the task (check ${check.name}): ${files} changed${named === '' ? '' : `: ${named}`}`;
  const action = reviewDigest(context.task.metadata.uid ?? '', check.name, result.manifestDigest);
  const evidence = await showEvidence(scope, about);
  const { decision, by, why, timedOut = false } = await approvals.ask({ action, kind: 'Review', summary, evidence });
  if (decision === 'Approved') return withoutCommand(check, 0, `accepted ${by}`);
  const said = why === undefined ? '' : `: ${why}`;
  const cure = timedOut ? 'review the result in time, or raise spec.policy.approvals.timeoutSeconds' : 'do what the person asks for';
  const message = `check ${check.name}: the result was not accepted ${by}${said}; ${cure}`;
  throw new AttemptFailure('ApprovalRejected', timedOut ? 'ReviewTimedOut' : reviewRejected, message);
}

/** Stores the whole change, so that it can be read before anything is decided; returns its beginning. */
async function showEvidence({ context }: Scope, { prepared, result, derived, answer }: Reviewed): Promise<string> {
  const keeping = { context, signal: context.signal };
  const { unified } = await keeperOf(keeping, (keeper) => keeper.diff(prepared.initial.id, result.id));
  const shown = shownPatch(unified, derived);
  const kept = await keep(keeping, [patch(keeping, prepared.initial.id, result.id, derived)]);
  context.signal.throwIfAborted();
  assertPatchKept(kept);
  const words = answer === undefined ? {} : { answer: shownAnswer(answer) };
  context.report({ patch: shown, artifacts: [...kept.artifacts], ...words });
  return shown;
}

/** The tests that failed although their check holds, because they are not repeatable at snapshot 0; `''` without any. */
export function failedThere(proofs: readonly Proof[]): string {
  const ids = proofs.flatMap(({ judged, run, verdict }) => {
    const flaky = new Set([...judged.judgement.flaky, ...verdict.flaky]);
    const failed = run.results.tests.filter(({ id, outcome }) => flaky.has(id) && (outcome === 'Failed' || outcome === 'Errored'));
    return failed.map(({ id }) => shownId(id));
  });
  return ids.length === 0 ? '' : `, but for tests that fail only at times, at snapshot 0 too: ${ids.slice(0, 3).join(', ')}`;
}

/** The checks that do not show which tests pass, so that a test which is gone may go unseen where others came; `''` without any. */
export function countedThere(proofs: readonly Proof[]): string {
  const names = proofs.flatMap(({ judged, verdict }) => (verdict.evidence === 'Counts' ? [judged.check.name] : []));
  return names.length === 0 ? '' : `; tests that pass are counted and not named by the checks ${names.slice(0, 8).join(', ')}`;
}
