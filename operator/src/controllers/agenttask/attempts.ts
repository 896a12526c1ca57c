import { timestamp, findCondition, type KubeObject } from '@agentfleet/kube';
import {
  addMoney,
  attemptAction,
  backoffSeconds,
  maxShownAttempts,
  type AgentTaskSpec,
  type AgentTaskStatus,
  type FailureClass,
  type Run,
  type Usage,
  failureClasses,
  type Reason,
} from '@agentfleet/protocol/api';
import { Counter, Histogram, type Registry } from 'prom-client';

export type Attempt = NonNullable<AgentTaskStatus['attempts']>[number];

/** How an attempt ended; without a class it succeeded or was cancelled. */
export interface Ending {
  readonly result: 'Succeeded' | 'Failed' | 'Cancelled';
  readonly class?: FailureClass;
  readonly reason: Reason;
  readonly message: string;
}

/** The attempts of a task, and what they have used together. */
export interface Books {
  readonly attempts: readonly Attempt[];
  readonly totals: AgentTaskStatus['totals'];
  /** Why the attempt ended that ends now. */
  readonly why?: string;
}

/** Reason of an attempt that was ended by a cancellation. */
export const cancelledReason = 'Cancelled';

/** Sum of two usages; both whole. */
export function addUsage(a: Usage | undefined, b: Usage | undefined): Usage | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const { cost: costA, ...countsA } = a;
  const { cost: costB, ...countsB } = b;
  const cost = costA === undefined || costB === undefined ? (costA ?? costB) : addMoney(costA, costB);
  const fields = Object.keys(countsB) as (keyof typeof countsB)[];
  const counts = Object.fromEntries(fields.map((field) => [field, (countsA[field] ?? 0) + (countsB[field] ?? 0)]));
  return { ...countsA, ...(counts as typeof countsB), ...(cost !== undefined && { cost }) };
}

function isCharged(attempt: Attempt, spec: AgentTaskSpec): boolean {
  return attempt.class !== undefined && attemptAction(attempt.class, spec.attempts) !== 'Ignore';
}

/** Attempts that count against `spec.attempts.max`. */
export function chargedAttempts(attempts: readonly Attempt[], spec: AgentTaskSpec): number {
  return attempts.filter((attempt) => isCharged(attempt, spec)).length;
}

/** What is left out first is the oldest that is not charged: the charged ones are at most ten, and they are counted. */
function trim(attempts: readonly Attempt[], spec: AgentTaskSpec): readonly Attempt[] {
  if (attempts.length <= maxShownAttempts) return attempts;
  const at = attempts.findIndex((attempt) => !isCharged(attempt, spec));
  return attempts.filter((_, index) => index !== Math.max(0, at));
}

/** What is known of an attempt that ends, besides how. */
export interface Closing {
  /** Ms since the epoch. */
  readonly now: number;
  /** False: it failed before anything was begun in its sandbox. */
  readonly started: boolean;
}

/** The books with the attempt that ends now. To be called once for an attempt: that is what makes the totals exact. */
export function closeAttempt(status: AgentTaskStatus, spec: AgentTaskSpec, ending: Ending, { now, started }: Closing): Books {
  const { assignment, attempts = [], totals } = status;
  if (assignment === undefined) return { attempts, totals };
  const usage = usageOf(status.run, assignment.attempt);
  const entry: Attempt = {
    number: assignment.attempt,
    startedAt: assignment.since,
    endedAt: timestamp(now),
    ...(ending.class === undefined ? {} : { class: ending.class }),
    reason: ending.reason,
    ...(started ? {} : { started }),
    ...(usage === undefined ? {} : { usage: spentOf(usage) }),
  };
  const sum = addUsage(totals?.usage, usage);
  return { attempts: trim([...attempts, entry], spec), totals: sum === undefined ? totals : { usage: sum }, why: ending.message };
}

function spentOf({ tokensIn, tokensOut, cost, toolCalls }: Usage): NonNullable<Attempt['usage']> {
  return { tokensIn, tokensOut, ...(cost === undefined ? {} : { cost }), toolCalls };
}

/** An attempt may go through several epochs; its worker reports the use of all of them. */
function usageOf(run: Run | undefined, attempt: number): Usage | undefined {
  return run?.attempt === attempt ? run.usage : undefined;
}

/** Failures without a break that count alike, the newest one included. */
function failuresInARow(attempts: readonly Attempt[], spec: AgentTaskSpec): number {
  const newest = attempts.at(-1);
  if (newest === undefined) return 0;
  if (isCharged(newest, spec)) return chargedAttempts(attempts, spec);
  const other = attempts.findLastIndex((attempt) => isCharged(attempt, spec));
  return attempts.length - 1 - other;
}

/**
 * When the next attempt may begin, in ms since the epoch. The first failure that is not the task's own costs no wait:
 * waiting would not make another worker or sandbox better; repeated ones do wait, and so does a sandbox that did not start.
 */
export function backoffUntil(attempts: readonly Attempt[], spec: AgentTaskSpec): number {
  const newest = attempts.at(-1);
  if (newest === undefined) return 0;
  const failures = failuresInARow(attempts, spec) - (isCharged(newest, spec) || newest.started === false ? 0 : 1);
  if (failures < 1) return 0;
  return Date.parse(newest.endedAt ?? newest.startedAt) + backoffSeconds(failures, spec.attempts.backoff) * 1000;
}

const phases = ['Succeeded', 'Failed', 'Cancelled'] as const;
/** What became of what a task changed; None: nothing was to be undone. */
const rollbacks = ['None', 'Restored', 'Discarded', 'Kept', 'NotVerified'] as const;
/** Seconds, from a warm sandbox to a task of a day. */
const buckets = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 14_400, 86_400];

type Seen = Pick<AgentTaskStatus, 'phase' | 'conditions' | 'finished' | 'assignment' | 'attempts' | 'run' | 'totals'>;

/** Records the course of tasks in metrics, from the statuses that this process wrote. */
export interface TaskMetrics {
  written(task: Pick<KubeObject, 'metadata'>, before: Seen | undefined, after: Seen): void;
}

/**
 * Registers the metrics of ends, of vetoes, of the waits for a first worker and sandbox and of the whole time of tasks. All series of failures exist
 * from the start, so that the first one is a growth. A registry that has them already is used as it is.
 */
export function taskMetrics(registry: Registry): TaskMetrics {
  const known = registry.getSingleMetric('agentfleet_task_ends_total');
  const metrics = known === undefined ? register(registry) : registered(registry);
  return {
    written: ({ metadata }, before, after) => {
      const created = Date.parse(metadata.creationTimestamp ?? '');
      const first = before?.assignment === undefined && (before?.attempts ?? []).length === 0;
      if (first && after.assignment !== undefined) observe(metrics.queue, {}, Date.parse(after.assignment.since) - created);
      if (isFirstReady(before, after)) observe(metrics.sandbox, {}, Date.parse(readyAt(after) ?? '') - created);
      metrics.vetoes.inc(Math.max(0, (after.totals?.usage?.vetoes ?? 0) - (before?.totals?.usage?.vetoes ?? 0)));
      if (after.finished !== 'true' || before?.finished === 'true') return;
      const phase = after.phase ?? '';
      if (phase === 'Succeeded' && (after.attempts ?? []).length === 1) metrics.firstSuccesses.inc();
      const rollback = findCondition(after.conditions, 'RolledBack')?.reason ?? 'None';
      metrics.ends.inc({ phase, rollback, class: phase === 'Failed' ? classOf(after) : 'None' });
      const ended = findCondition(after.conditions, 'Finished')?.lastTransitionTime ?? '';
      observe(metrics.duration, { phase }, Date.parse(ended) - created);
    },
  };
}

/** When the sandbox became ready; undefined: it is not. */
export function readyAt({ conditions }: Seen): string | undefined {
  const ready = findCondition(conditions, 'SandboxReady');
  return ready?.status === 'True' ? ready.lastTransitionTime : undefined;
}

/** Whether the first sandbox of a task has become ready. */
function isFirstReady(before: Seen | undefined, after: Seen): boolean {
  const isFirst = after.assignment?.epoch === 1 && before?.run === undefined && (after.attempts ?? []).length === 0;
  return isFirst && readyAt(after) !== undefined && (before === undefined || readyAt(before) === undefined);
}

interface Metrics {
  readonly ends: Counter;
  readonly firstSuccesses: Counter;
  readonly vetoes: Counter;
  readonly sandbox: Histogram;
  readonly queue: Histogram;
  readonly duration: Histogram;
}

function register(registry: Registry): Metrics {
  const registers = [registry];
  const ends = new Counter({
    name: 'agentfleet_task_ends_total',
    help: 'Tasks that ended, partitioned by phase, by failure class and by what became of what they had changed.',
    labelNames: ['phase', 'rollback', 'class'],
    registers,
  });
  for (const rollback of rollbacks) {
    for (const phase of phases.filter((one) => one !== 'Failed')) ends.inc({ phase, rollback, class: 'None' }, 0);
    for (const cls of failureClasses) ends.inc({ phase: 'Failed', rollback, class: cls }, 0);
  }
  const counter = (name: string, help: string): Counter => new Counter({ name, help, registers });
  const histogram = (name: string, help: string, labelNames: string[] = []): Histogram =>
    new Histogram({ name, help, labelNames, buckets, registers });
  return {
    ends,
    firstSuccesses: counter('agentfleet_task_first_attempt_successes_total', 'Tasks that succeeded in their first attempt.'),
    vetoes: counter('agentfleet_task_vetoes_total', 'Acts and candidates that a gate refused, counted when their attempt ends.'),
    queue: histogram('agentfleet_task_queue_seconds', 'Time from the creation of a task to its first assignment to a worker.'),
    sandbox: histogram('agentfleet_task_sandbox_seconds', 'Time from the creation of a task to the readiness of its first sandbox.'),
    duration: histogram('agentfleet_task_duration_seconds', 'Time from the creation of a task to its end, partitioned by phase.', [
      'phase',
    ]),
  };
}

function registered(registry: Registry): Metrics {
  const counter = (name: string): Counter => registry.getSingleMetric(name) as Counter;
  const histogram = (name: string): Histogram => registry.getSingleMetric(name) as Histogram;
  return {
    ends: counter('agentfleet_task_ends_total'),
    firstSuccesses: counter('agentfleet_task_first_attempt_successes_total'),
    vetoes: counter('agentfleet_task_vetoes_total'),
    queue: histogram('agentfleet_task_queue_seconds'),
    sandbox: histogram('agentfleet_task_sandbox_seconds'),
    duration: histogram('agentfleet_task_duration_seconds'),
  };
}

/** Of the last attempt; what never began failed by its spec. */
export function classOf({ attempts, run }: Seen): string {
  return attempts?.at(-1)?.class ?? run?.outcome?.class ?? 'InvalidInput';
}

/** Clocks of two machines may disagree: a time is never below zero. */
function observe(histogram: Histogram, labels: Record<string, string>, ms: number): void {
  if (Number.isFinite(ms)) histogram.observe(labels, Math.max(0, ms / 1000));
}

/** Names that manifests, policies and selectors share. */
export { homeDir, keeperPort, workspaceDir } from '@agentfleet/protocol/keeper';
export { labels, sandboxFinalizer } from '@agentfleet/protocol/pool';

/** Secret with the key by which keeper and runner recognise each other, in every namespace with sandboxes. */
export const linkSecret = { name: 'agentfleet-link', key: 'key' } as const;

/** ConfigMap with the cluster's token signing keys, in every namespace with sandboxes. */
export const jwksConfigMap = 'agentfleet-jwks';

/** Uid and gid of both containers: one owner for all files, so that the keeper reads a 0600 file too. */
export const sandboxUid = 10_001;

/** Folder of the runner and its link inside the user's container. */
export const hiddenDir = '/.agentfleet';

/** Where the keeper sees /tmp of the user's container, to measure it. */
export const scratchDir = '/mnt/tmp';
export const storeDir = '/var/lib/agentfleet';
