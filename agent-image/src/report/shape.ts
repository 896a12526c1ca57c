import {
  maxAnswerBytes,
  maxMessagesTaken,
  maxPatchCharacters,
  maxPlanNodes,
  type Run,
  toMicros,
  type AgentTask,
  type Usage,
} from '@agentfleet/protocol/api';
import { printableLines } from '@agentfleet/protocol/text';

const ellipsis = '…';
const answerMarker = '\n… cut; the whole answer is an artifact';
const patchMarker = '\n… cut; the whole change is an artifact\n';

/**
 * Returns the text, or its beginning and an ellipsis: at most `max` Unicode characters. Halves of surrogate pairs are
 * replaced, and terminal control characters are escaped: `kubectl` prints a status as it is.
 */
export function cut(text: string, max: number): string {
  const shown = printableLines(text.replaceAll('\r\n', '\n')).join('\n');
  const all = Array.from(shown);
  return (all.length <= max ? shown : `${all.slice(0, Math.max(0, max - 1)).join('')}${ellipsis}`).toWellFormed();
}

/** The text as {@link cut} shows it, at most `maxBytes` of UTF-8; a longer one ends with a mark. */
function cutAnswer(text: string, maxBytes: number): string {
  const shown = cut(text, Number.POSITIVE_INFINITY);
  if (Buffer.byteLength(shown) <= maxBytes) return shown;
  const room = maxBytes - Buffer.byteLength(answerMarker);
  let bytes = 0;
  const kept = Array.from(shown).filter((character) => {
    bytes += Buffer.byteLength(character);
    return bytes <= room;
  });
  return `${kept.join('')}${answerMarker}`;
}

/**
 * Cuts a unified diff to at most `max` characters; a longer one ends after a whole line where it has one, and a line reports that
 * it was cut.
 */
export function cutPatch(patch: string, max: number): string {
  const all = Array.from(patch);
  if (all.length <= max) return patch.toWellFormed();
  const kept = all.slice(0, Math.max(0, max - patchMarker.length)).join('');
  const line = kept.lastIndexOf('\n');
  return `${line < 0 ? kept : kept.slice(0, line)}${patchMarker}`.toWellFormed();
}

type Plan = NonNullable<Run['plan']>;
type PlanNode = Plan[number];

/** Nodes dropped first when a plan has too many; the rest is dropped from the end. */
const dispensable: readonly ((node: PlanNode) => boolean)[] = [
  (node) => node.state === 'Dropped',
  (node) => node.kind === 'Step' && node.state === 'Failed',
  (node) => node.kind === 'Step' && node.state === 'Done',
  (node) => node.kind === 'Step' && node.state === 'Pending',
];

/** Returns at most `max` nodes in their order: goals and running nodes stay longest. */
function fewerNodes(plan: Plan, max: number): Plan {
  let kept = plan;
  for (const gives of dispensable) {
    let excess = kept.length - max;
    if (excess <= 0) return kept;
    kept = kept.filter((node) => {
      if (excess <= 0 || !gives(node)) return true;
      excess -= 1;
      return false;
    });
  }
  return kept.slice(0, max);
}

/** Numbers of the API are whole and bounded: rounds up, so that 0.2 s is not "nothing". */
function whole(value: number, max: number, min = 0): number {
  return Number.isFinite(value) ? Math.min(max, Math.max(min, Math.ceil(value))) : min;
}

function wholeUsage(usage: NonNullable<Run['usage']>): NonNullable<Run['usage']> {
  const entries = Object.entries(usage).map(([name, value]) => [
    name,
    typeof value === 'number' ? whole(value, Number.MAX_SAFE_INTEGER) : value,
  ]);
  return Object.fromEntries(entries) as NonNullable<Run['usage']>;
}

function shapedOutcome(outcome: NonNullable<Run['outcome']>): NonNullable<Run['outcome']> {
  const checks = outcome.checks?.slice(0, 16).map((check) => ({
    ...check,
    passed: whole(check.passed, 10_000_000),
    failed: whole(check.failed, 10_000_000),
    skipped: whole(check.skipped, 10_000_000),
    seconds: whole(check.seconds, 86_400),
  }));
  return {
    ...outcome,
    ...(outcome.message === undefined ? {} : { message: cut(outcome.message, 1024) }),
    ...(checks === undefined ? {} : { checks }),
  };
}

function shapedProgress(progress: NonNullable<Run['progress']>): NonNullable<Run['progress']> {
  return {
    ...progress,
    done: whole(progress.done, 100_000),
    total: whole(progress.total, 100_000),
    ...(progress.message === undefined ? {} : { message: cut(progress.message, 256) }),
  };
}

function shapedRollback(rollback: NonNullable<Run['rollback']>): NonNullable<Run['rollback']> {
  if (rollback.irreversible === undefined) return rollback;
  return { ...rollback, irreversible: rollback.irreversible.slice(0, 16).map((effect) => cut(effect, 256)) };
}

function shapedApproval(pending: NonNullable<Run['pendingApproval']>): NonNullable<Run['pendingApproval']> {
  return {
    ...pending,
    summary: cut(pending.summary, 512),
    ...(pending.question === undefined ? {} : { question: cut(pending.question, 1024) }),
    ...(pending.evidence === undefined ? {} : { evidence: cut(pending.evidence, 1024) }),
  };
}

/** Cuts every list, text and number of the run to the API's bounds. Does not check patterns and the total size. */
function shape(run: Run): Run {
  const { progress, plan, usage, experts, pendingApproval, artifacts, answer, messagesTaken, patch, rollback, outcome } = run;
  return {
    ...run,
    ...(progress === undefined ? {} : { progress: shapedProgress(progress) }),
    ...(plan === undefined ? {} : { plan: fewerNodes(plan, maxPlanNodes).map((node) => ({ ...node, intent: cut(node.intent, 96) })) }),
    ...(usage === undefined ? {} : { usage: wholeUsage(usage) }),
    ...(experts === undefined ? {} : { experts: experts.slice(0, 16) }),
    ...(pendingApproval === undefined ? {} : { pendingApproval: shapedApproval(pendingApproval) }),
    ...(artifacts === undefined ? {} : { artifacts: artifacts.slice(0, 16) }),
    ...(answer === undefined ? {} : { answer: cutAnswer(answer, maxAnswerBytes) }),
    ...(messagesTaken === undefined ? {} : { messagesTaken: messagesTaken.slice(-maxMessagesTaken) }),
    ...(patch === undefined ? {} : { patch: cutPatch(patch, maxPatchCharacters) }),
    ...(rollback === undefined ? {} : { rollback: shapedRollback(rollback) }),
    ...(outcome === undefined ? {} : { outcome: shapedOutcome(outcome) }),
  };
}

/** Bytes of `status.run` as JSON. The whole status may have 8 KiB; the rest is the operator's. */
export const maxRunBytes = 6 * 1024;

type Reduction = (run: Run) => Run;

const patchTo =
  (max: number): Reduction =>
  (run) =>
    run.patch === undefined ? run : { ...run, patch: cutPatch(run.patch, max) };

const answerTo =
  (maxBytes: number): Reduction =>
  (run) =>
    run.answer === undefined ? run : { ...run, answer: cutAnswer(run.answer, maxBytes) };

const planTo =
  (nodes: number, intent: number): Reduction =>
  (run) =>
    run.plan === undefined
      ? run
      : { ...run, plan: fewerNodes(run.plan, nodes).map((node) => ({ ...node, intent: cut(node.intent, intent) })) };

const artifactsTo =
  (count: number): Reduction =>
  (run) =>
    run.artifacts === undefined ? run : { ...run, artifacts: run.artifacts.slice(0, count) };

const messageTo =
  (max: number): Reduction =>
  (run) => ({
    ...run,
    ...(run.outcome?.message === undefined ? {} : { outcome: { ...run.outcome, message: cut(run.outcome.message, max) } }),
    ...(run.progress?.message === undefined ? {} : { progress: { ...run.progress, message: cut(run.progress.message, max) } }),
  });

const effectsTo =
  (count: number, max: number): Reduction =>
  (run) => {
    const { irreversible, ...rollback } = run.rollback ?? { irreversible: undefined };
    if (run.rollback === undefined || irreversible === undefined) return run;
    const kept = irreversible.slice(0, count).map((effect) => cut(effect, max));
    return { ...run, rollback: { ...(rollback as typeof run.rollback), ...(kept.length === 0 ? {} : { irreversible: kept }) } };
  };

const approvalTo =
  (max: number): Reduction =>
  (run) => {
    if (run.pendingApproval === undefined) return run;
    const { evidence, question, ...rest } = run.pendingApproval;
    // The summary begins with the question, so that at least this is read.
    const kept = {
      ...(evidence === undefined ? {} : { evidence: cut(evidence, max) }),
      ...(question === undefined ? {} : { question: cut(question, 2 * max) }),
    };
    return { ...run, pendingApproval: { ...rest, ...kept } };
  };

const checksTo =
  (count: number): Reduction =>
  (run) =>
    run.outcome?.checks === undefined ? run : { ...run, outcome: { ...run.outcome, checks: run.outcome.checks.slice(0, count) } };

const without =
  (field: 'patch' | 'plan' | 'signals' | 'shadow' | 'artifacts' | 'experts' | 'pendingApproval' | 'snapshots' | 'answer'): Reduction =>
  (run) => {
    const { [field]: _, ...rest } = run;
    return rest;
  };

const withoutCheckpoint: Reduction = (run) => {
  if (run.snapshots === undefined) return run;
  const { checkpointURI: _, ...snapshots } = run.snapshots;
  return { ...run, snapshots };
};

/** From the least to the most important; the end of the attempt and the restored snapshot come last and stay. */
const reductions: readonly Reduction[] = [
  planTo(64, 48),
  planTo(32, 48),
  patchTo(1024),
  planTo(16, 48),
  effectsTo(8, 128),
  messageTo(512),
  approvalTo(256),
  planTo(8, 32),
  patchTo(512),
  artifactsTo(8),
  messageTo(256),
  without('plan'),
  without('patch'),
  without('signals'),
  artifactsTo(4),
  effectsTo(4, 64),
  withoutCheckpoint,
  artifactsTo(2),
  answerTo(512),
  without('experts'),
  without('shadow'),
  without('artifacts'),
  approvalTo(64),
  messageTo(64),
  without('snapshots'),
  checksTo(8),
  without('answer'),
  effectsTo(0, 0),
  without('pendingApproval'),
];

function bytes(run: Run): number {
  return Buffer.byteLength(JSON.stringify(run));
}

/**
 * The run inside the API's bounds and within {@link maxRunBytes}. Attempt, epoch, the result and its reason, the usage
 * and the restored snapshot are never touched. Pure; trimming twice changes nothing more.
 */
export function trim(run: Run): Run {
  let kept = shape(run);
  for (const reduce of reductions) {
    if (bytes(kept) <= maxRunBytes) return kept;
    kept = reduce(kept);
  }
  return kept;
}

export const noUsage: Usage = {
  tokensIn: 0,
  tokensOut: 0,
  toolCalls: 0,
  cpuMillis: 0,
  wallSeconds: 0,
  candidates: 0,
  vetoes: 0,
  backtracks: 0,
};

/** Returns the usage of earlier attempts, and of this one before this process. */
export function usedSoFar(task: AgentTask): { readonly earlier: Usage; readonly before: Usage } {
  const { assignment, run, totals } = task.status ?? {};
  const same = run !== undefined && run.attempt === assignment?.attempt;
  return { earlier: totals?.usage ?? noUsage, before: (same ? run.usage : undefined) ?? noUsage };
}

/**
 * Returns the task with at most the budget that its assignment reserved of the pool's caps: a later raise counts for a
 * later assignment. Pure.
 */
export function withinAssignment(task: AgentTask): AgentTask {
  const { tokens, cost } = task.status?.assignment?.budget ?? {};
  if (tokens === undefined && cost === undefined) return task;
  const own = task.spec.budget;
  const budget = {
    ...own,
    ...(tokens === undefined ? {} : { tokens: Math.min(own.tokens ?? tokens, tokens) }),
    ...(cost === undefined ? {} : { cost: own.cost !== undefined && toMicros(own.cost) < toMicros(cost) ? own.cost : cost }),
  };
  return { ...task, spec: { ...task.spec, budget } };
}

/** The usage with the seconds of this attempt, when the engine did not count them. */
export function withWallSeconds(usage: Usage, before: Usage, elapsedMs: number): Usage {
  return usage.wallSeconds > 0 ? usage : { ...usage, wallSeconds: before.wallSeconds + Math.ceil(elapsedMs / 1000) };
}

/**
 * Returns the base for reports of a worker that takes an attempt over: the newest report of the same attempt. An
 * outcome, a rollback or a quiesced state stays only when it was written under this epoch.
 */
export function baseOf(task: AgentTask, attempt: number, epoch: number): Run {
  const run = task.status?.run;
  if (run === undefined) return { attempt, epoch };
  // A new attempt of a task that has a durable copy still has it.
  if (run.attempt !== attempt) {
    const { snapshots, shadow, messagesTaken, auditRoot } = run;
    const copied = snapshots?.checkpointURI === undefined ? {} : { snapshots };
    // Copies are counted over all attempts, a message is given once, and one log has all attempts: without its root a lost one is not missed.
    const lasting = {
      ...(shadow !== undefined && { shadow }),
      ...(messagesTaken !== undefined && { messagesTaken }),
      ...(auditRoot !== undefined && { auditRoot }),
    };
    return { attempt, epoch, ...copied, ...lasting };
  }
  // A runtime that waits for an approval reports it again.
  const { pendingApproval: _, ...mine } = run;
  if (run.epoch === epoch) return mine;
  const { outcome: __, rollback: ___, quiescedAt: ____, ...kept } = mine;
  return { ...kept, epoch };
}
