import { deadline } from '@agentfleet/kube';
import type { Run } from '@agentfleet/protocol/api';
import type { SnapshotRecord } from '@agentfleet/protocol/keeper';
import { answerKeepsake, shownAnswer } from './answer.ts';
import { auditRoot, json, keep, patch, revertScript, shownPatch, trace, type Keeping, type Keepsake } from './artifacts.ts';
import type { Baseline } from './baseline.ts';
import type { Ran } from './checkRun.ts';
import type { Proof } from './evidence.ts';
import { checkResults, failed } from './outcome.ts';
import type { AttemptContext, Outcome, Report } from './ports.ts';
import type { Meter } from './meter.ts';
import { patiently, throwIfSuperseded } from './patience.ts';
import { labelled, labels, type Prepared } from './prepare.ts';
import type { Progress } from './progress.ts';

/** What an attempt has come to know, filled as its phases end; read when it ends, however it ends. */
export interface Ledger {
  meter?: Meter;
  progress?: Progress;
  prepared?: Prepared;
  baseline?: Baseline;
  result?: SnapshotRecord;
  /** What the model says in words; set when it hands in, read when the attempt ends. */
  answer?: string;
  /** What the checks said in the fresh container. */
  readonly proofs: Proof[];
  /** What people said of the result, one for each accepted check of type Review. */
  readonly reviews: Ran[];
  /** Newest snapshot at which all checks passed, of this attempt or an earlier one. */
  green?: string;
}

/** How long the files of an attempt that failed or was stopped are worth waiting for, ms. */
const lateMs = 60_000;

/**
 * Stores what outlives the sandbox and reports it. For a success it tries until it is told to end: nothing is Succeeded
 * whose patch is lost. Otherwise it gives up after a minute and leaves out what could not be stored.
 */
export async function close(context: AttemptContext, ledger: Ledger, outcome: Outcome): Promise<Outcome> {
  // What the last step used is told too: the budget counts over all attempts.
  context.report({
    ...(ledger.meter !== undefined && { usage: ledger.meter.usage() }),
    ...ledger.progress?.end(outcome.result),
  });
  const outer = context.signal.aborted ? new AbortController().signal : context.signal;
  const limit = outcome.result === 'Succeeded' ? null : deadline(context.clock, lateMs, outer);
  const keeping: Keeping = { context, signal: limit?.signal ?? outer };
  try {
    return await closeWithin(keeping, ledger, outcome);
  } finally {
    limit?.dispose();
  }
}

async function closeWithin(keeping: Keeping, ledger: Ledger, outcome: Outcome): Promise<Outcome> {
  const { context, signal } = keeping;
  const told = outcome.result === 'Stopped' ? outcome : { ...outcome, checks: checkResults(runsOf(ledger)) };
  try {
    await patiently(() => context.keeper.note('Outcome', noteOf(context, told, ledger)), { clock: context.clock, signal });
    const root = await auditRoot(keeping);
    const snapshots = await summary(keeping, ledger);
    const shown = await shownChange(keeping, ledger);
    const artifacts = await keep(keeping, filesOf(keeping, ledger, told));
    if (outcome.result === 'Succeeded') signal.throwIfAborted();
    const answer = ledger.answer === undefined ? {} : { answer: shownAnswer(ledger.answer) };
    context.report({ ...shown, ...answer, snapshots, auditRoot: root, artifacts: [...artifacts] }, { urgent: true });
    return told;
  } catch (error) {
    throwIfSuperseded(error);
    if (outcome.result !== 'Stopped') context.signal.throwIfAborted();
    if (outcome.result === 'Succeeded') return failed(error);
    context.log.warn('the end of an attempt could not be recorded', { error: error instanceof Error ? error.message : String(error) });
    return told;
  }
}

function runsOf({ proofs, reviews, baseline }: Ledger): readonly Ran[] {
  if (proofs.length + reviews.length > 0) return [...proofs.map(({ run }) => run), ...reviews];
  return baseline?.checks.flatMap((judged) => judged.baseline.slice(0, 1)) ?? [];
}

function filesOf(keeping: Keeping, ledger: Ledger, outcome: Outcome): readonly Keepsake[] {
  const from = ledger.prepared?.initial.id;
  const change = from === undefined ? [] : [patch(keeping, from, ledger.result?.id)];
  const undo = from !== undefined && leavesChange(keeping.context, outcome) ? [revertScript(keeping, from, ledger.result?.id)] : [];
  const words = ledger.answer === undefined ? [] : [answerKeepsake(ledger.answer)];
  return [...words, ...change, ...undo, json('report.json', reportOf(keeping.context, ledger, outcome)), trace(keeping)];
}

/** Whether the change stays when the attempt has ended, so that somebody may want to undo it; a rollback makes a script of its own. */
function leavesChange({ task }: AttemptContext, { result }: Outcome): boolean {
  const { revertScript, whenFailed } = task.spec.rollback;
  return revertScript && (result !== 'Failed' || whenFailed === 'Keep');
}

async function shownChange({ context, signal }: Keeping, { prepared, result }: Ledger): Promise<Report> {
  if (prepared === undefined) return {};
  const { unified } = await patiently(() => context.keeper.diff(prepared.initial.id, result?.id), { clock: context.clock, signal });
  return { patch: shownPatch(unified) };
}

/** The snapshots as the status tells them. */
export async function summary({ context, signal }: Keeping, { green }: Pick<Ledger, 'green'>): Promise<NonNullable<Run['snapshots']>> {
  const patience = { clock: context.clock, signal };
  const snapshots = await patiently(() => context.keeper.snapshots(), patience);
  const { engine } = (await patiently(() => context.keeper.info(), patience)).snapshots;
  const initial = labelled(snapshots, labels.initial)?.id;
  const current = snapshots.at(-1)?.id;
  return {
    count: Math.min(snapshots.length, 1000),
    engine,
    ...(initial !== undefined && { initial }),
    ...(green !== undefined && { lastGreen: green }),
    ...(current !== undefined && { current }),
  };
}

/** Tests of one check that the note about the end names. */
const maxNamed = 200;

function noteOf(
  { assignment }: AttemptContext,
  { result, reason, class: cls, checks = [] }: Outcome,
  { proofs }: Ledger,
): Readonly<Record<string, unknown>> {
  const some = (ids: readonly string[]): readonly string[] => ids.slice(0, maxNamed).map((id) => id.slice(0, 256));
  const ends = checks.map(({ name, passed, failed, skipped }) => {
    const verdict = proofs.find(({ judged }) => judged.check.name === name)?.verdict;
    const delta = verdict && { newlyPassing: some(verdict.newlyPassing), stillFailing: some(verdict.stillFailing) };
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
