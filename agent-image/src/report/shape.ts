import {
  maxAnswerBytes,
  maxMessagesTaken,
  maxPatchCharacters,
  maxPlanNodes,
  type Delivered,
  type Run,
  toMicros,
  type AgentTask,
  type Usage,
} from '@agentfleet/protocol/api';
import { printableLines } from '@agentfleet/protocol/text';
import { shortened } from '../base/text.ts';

const answerMarker = '\n… cut; the whole answer is an artifact';
const patchMarker = '\n… cut; the whole is the artifact change.patch\n';

/**
 * Returns the text, or its beginning and an ellipsis: at most `max` Unicode characters. Halves of surrogate pairs are
 * replaced, and terminal control characters are escaped: `kubectl` prints a status as it is.
 */
export function cut(text: string, max: number): string {
  const shown = printableLines(text.replaceAll('\r\n', '\n')).join('\n');
  return shortened(shown, max).toWellFormed();
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

/** Nodes dropped first when a plan has too many, the oldest steps first; the rest is dropped from the end. */
const dispensable: readonly ((node: PlanNode) => boolean)[] = [
  (node) => node.kind === 'Step' && (node.state === 'Dropped' || node.state === 'Failed'),
  (node) => node.state === 'Dropped',
  (node) => node.kind === 'Step' && node.state === 'Done',
  (node) => node.kind === 'Step' && node.state === 'Pending',
];

/** Steps are numbered as they are tried. */
const serial = ({ id }: PlanNode): number => Number(/\d+$/.exec(id)?.[0] ?? 0);

/** Returns at most `max` nodes in their order: goals and running nodes stay longest. */
function fewerNodes(plan: Plan, max: number): Plan {
  let kept = plan;
  for (const gives of dispensable) {
    const spare = kept.filter(gives).toSorted((a, b) => serial(a) - serial(b));
    const dropped = new Set(spare.slice(0, Math.max(0, kept.length - max)));
    kept = kept.filter((node) => !dropped.has(node));
  }
  return kept.slice(0, max);
}

/** Numbers of the API are whole and bounded: rounds up, so that 0.2 s is not "nothing". */
function whole(value: number, max: number, min = 0): number {
  return Number.isFinite(value) ? Math.min(max, Math.max(min, Math.ceil(value))) : min;
}

type Change<T> = (whole: T) => T;
type Reduction = Change<Run>;

/** Changes one field where it is there. */
function on<T extends object, F extends keyof T>(field: F, change: (value: Exclude<T[F], undefined>) => T[F]): Change<T> {
  return (whole) => (whole[field] === undefined ? whole : { ...whole, [field]: change(whole[field] as Exclude<T[F], undefined>) });
}

function each<T>(...changes: readonly Change<T>[]): Change<T> {
  return (whole) => changes.reduce((now, change) => change(now), whole);
}

const first =
  (count: number) =>
  <T>(list: readonly T[]) =>
    list.slice(0, count);
const cutTo = (max: number) => (text: string) => cut(text, max);

const patchTo = (max: number): Reduction => on('patch', (patch) => cutPatch(patch, max));
const answerTo = (maxBytes: number): Reduction => on('answer', (answer) => cutAnswer(answer, maxBytes));
const artifactsTo = (count: number): Reduction => on('artifacts', first(count));
const checksTo = (count: number): Reduction => on('outcome', on('checks', first(count)));
const planTo = (nodes: number, intent: number): Reduction => on('plan', (plan) => fewerNodes(plan, nodes).map(on('intent', cutTo(intent))));
const messageTo = (max: number): Reduction => each(on('outcome', on('message', cutTo(max))), on('progress', on('message', cutTo(max))));

const effectsTo = (count: number, max: number): Reduction =>
  on('rollback', ({ irreversible = [], ...rollback }) => {
    const kept = irreversible.slice(0, count).map(cutTo(max));
    return { ...rollback, ...(kept.length > 0 && { irreversible: kept }) };
  });

/** The summary begins with the question, so that at least this is read. */
const approvalTo = (max: number): Reduction => on('pendingApproval', each(on('evidence', cutTo(max)), on('question', cutTo(2 * max))));

const wholeCounts = <T extends Record<'passed' | 'failed' | 'skipped' | 'seconds', number>>(check: T): T => ({
  ...check,
  passed: whole(check.passed, 10_000_000),
  failed: whole(check.failed, 10_000_000),
  skipped: whole(check.skipped, 10_000_000),
  seconds: whole(check.seconds, 86_400),
});

const wholeUsage: Change<Usage> = (usage) =>
  Object.fromEntries(
    Object.entries(usage).map(([name, value]) => [name, typeof value === 'number' ? whole(value, Number.MAX_SAFE_INTEGER) : value]),
  ) as Usage;

/** An address that was cut leads nowhere; one from the log of a sandbox can be anything. */
const withoutBadAddress: Change<Delivered> = ({ pullRequest, ...output }) =>
  pullRequest === undefined || !/^[!-~]{1,1024}$/.test(pullRequest) ? output : { ...output, pullRequest };

/** Cuts every list, text and number of the run to the API's bounds. Does not check patterns and the total size. */
const shape: Reduction = each(
  on('progress', (progress) => ({ ...progress, done: whole(progress.done, 100_000), total: whole(progress.total, 100_000) })),
  on('progress', on('message', cutTo(256))),
  planTo(maxPlanNodes, 96),
  on('usage', wholeUsage),
  on('experts', first(16)),
  on('pendingApproval', each(on('summary', cutTo(512)), on('question', cutTo(1024)), on('evidence', cutTo(1024)))),
  artifactsTo(16),
  answerTo(maxAnswerBytes),
  on('output', each(on('branch', cutTo(256)), on('message', cutTo(512)), withoutBadAddress)),
  on('messagesTaken', (taken) => taken.slice(-maxMessagesTaken)),
  patchTo(maxPatchCharacters),
  on(
    'rollback',
    on('irreversible', (effects) => effects.slice(0, 16).map(cutTo(256))),
  ),
  on(
    'outcome',
    each(
      on('message', cutTo(1024)),
      on('checks', (checks) => checks.slice(0, 16).map(wholeCounts)),
    ),
  ),
);

/** Bytes of `status.run` as JSON. The whole status may have 8 KiB; the rest is the operator's. */
export const maxRunBytes = 6 * 1024;

const without =
  (field: 'patch' | 'plan' | 'signals' | 'shadow' | 'artifacts' | 'experts' | 'pendingApproval' | 'snapshots' | 'answer'): Reduction =>
  (run) => {
    const { [field]: _, ...rest } = run;
    return rest;
  };

const withoutCheckpoint: Reduction = on('snapshots', (snapshots) => {
  const { checkpointURI: _, ...rest } = snapshots;
  return rest;
});

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
  on('output', on('message', cutTo(128))),
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
