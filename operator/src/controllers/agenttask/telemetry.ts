import { counter, findCondition, histogram, type KubeObject } from '@agentfleet/kube';
import { failureClasses, type AgentTask, type AgentTaskStatus } from '@agentfleet/protocol/api';
import { newSpanId, traceOfTask, type Attributes, type Tracing } from '@agentfleet/protocol/tracing';
import type { Counter, Histogram, Registry } from 'prom-client';

type Seen = Pick<AgentTaskStatus, 'phase' | 'conditions' | 'finished' | 'assignment' | 'attempts' | 'run' | 'totals'>;

const phases = ['Succeeded', 'Failed', 'Cancelled'] as const;
/** Results of undoing the changes of a task; None: nothing was to be undone. */
const rollbacks = ['None', 'Restored', 'Discarded', 'Kept', 'NotVerified'] as const;
/** Seconds, from a warm sandbox to a task of a day. */
const buckets = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 14_400, 86_400];

/** Records the course of tasks in metrics, from the statuses that this process wrote. */
export interface TaskMetrics {
  written(task: Pick<KubeObject, 'metadata'>, before: Seen | undefined, after: Seen): void;
}

/**
 * Registers the metrics of ends, of vetoes, of the waits for a first worker and sandbox and of the whole time of tasks. All series of failures exist
 * from the start, so that the first one is a growth. A registry that has them already is used as it is.
 */
export function taskMetrics(registry: Registry): TaskMetrics {
  const metrics = register(registry);
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

/** Returns the time at which the sandbox became ready; undefined: it is not. */
function readyAt({ conditions }: Seen): string | undefined {
  const ready = findCondition(conditions, 'SandboxReady');
  return ready?.status === 'True' ? ready.lastTransitionTime : undefined;
}

/** Reports whether the first sandbox of a task has become ready. */
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
  const ends = counter(registry, {
    name: 'agentfleet_task_ends_total',
    help: 'Tasks that ended, partitioned by phase, by failure class and by what became of what they had changed.',
    labelNames: ['phase', 'rollback', 'class'],
  });
  for (const rollback of rollbacks) {
    for (const phase of phases.filter((one) => one !== 'Failed')) ends.inc({ phase, rollback, class: 'None' }, 0);
    for (const cls of failureClasses) ends.inc({ phase: 'Failed', rollback, class: cls }, 0);
  }
  const plain = (name: string, help: string): Counter => counter(registry, { name, help });
  const times = (name: string, help: string, labelNames: string[] = []): Histogram =>
    histogram(registry, { name, help, labelNames, buckets });
  return {
    ends,
    firstSuccesses: plain('agentfleet_task_first_attempt_successes_total', 'Tasks that succeeded in their first attempt.'),
    vetoes: plain('agentfleet_task_vetoes_total', 'Acts and candidates that a gate refused, counted when their attempt ends.'),
    queue: times('agentfleet_task_queue_seconds', 'Time from the creation of a task to its first assignment to a worker.'),
    sandbox: times('agentfleet_task_sandbox_seconds', 'Time from the creation of a task to the readiness of its first sandbox.'),
    duration: times('agentfleet_task_duration_seconds', 'Time from the creation of a task to its end, partitioned by phase.', ['phase']),
  };
}

/** Of the last attempt; what never began failed by its spec. */
export function classOf({ attempts, run }: Seen): string {
  return attempts?.at(-1)?.class ?? run?.outcome?.class ?? 'InvalidInput';
}

/** Clocks of two machines may disagree: a time is never below zero. */
function observe(times: Histogram, labels: Record<string, string>, ms: number): void {
  if (Number.isFinite(ms)) times.observe(labels, Math.max(0, ms / 1000));
}

interface Part {
  readonly name: string;
  /** RFC 3339, or ms since 1970. */
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly attributes?: Attributes;
  readonly errorType?: string;
}

/** Returns the parts that a written status ended: waits for worker and sandbox, and the whole task. Pure. */
function partsEnded(
  created: string | undefined,
  before: Seen | undefined,
  after: Seen,
): { readonly parts: readonly Part[]; readonly whole?: Part } {
  const parts: Part[] = [];
  const { assignment } = after;
  const attributes = assignment && { 'agentfleet.attempt': assignment.attempt, 'agentfleet.epoch': assignment.epoch };
  const same = before?.assignment?.epoch === assignment?.epoch;
  const isFirst = before?.assignment === undefined && (before?.attempts ?? []).length === 0;
  if (assignment !== undefined && attributes !== undefined) {
    if (isFirst && !same) parts.push({ name: 'queue', from: created, to: assignment.since, attributes });
    const wasReady = same && before !== undefined && readyAt(before) !== undefined;
    if (readyAt(after) !== undefined && !wasReady) parts.push({ name: 'sandbox', from: assignment.since, to: readyAt(after), attributes });
  }
  if (after.finished !== 'true' || before?.finished === 'true') return { parts };
  const { phase = '' } = after;
  const succeeded = findCondition(after.conditions, 'Succeeded')?.reason;
  return {
    parts,
    whole: {
      name: 'task',
      from: created,
      to: findCondition(after.conditions, 'Finished')?.lastTransitionTime,
      attributes: {
        'agentfleet.task.phase': phase,
        'agentfleet.task.reason': succeeded,
        'agentfleet.task.attempts': (after.attempts ?? []).length,
        'agentfleet.task.rollback': findCondition(after.conditions, 'RolledBack')?.reason,
      },
      ...(phase === 'Failed' && { errorType: classOf(after) }),
    },
  };
}

/** Records the waits of tasks and tasks as a whole as spans, from the statuses that this process wrote. */
export function recordSpans({ sampleRatio, sink }: Tracing, { metadata }: AgentTask, before: Seen | undefined, after: Seen): void {
  if (sink === undefined) return;
  const { root, parent } = traceOfTask({ metadata }, sampleRatio);
  if (!root.sampled) return;
  const { name, namespace = '', creationTimestamp } = metadata;
  const { parts, whole } = partsEnded(creationTimestamp, before, after);
  const record = (part: Part, spanId: string, parentSpanId: string | undefined): void => {
    const startMs = Date.parse(part.from ?? '');
    const endMs = Math.max(startMs, Date.parse(part.to ?? ''));
    if (!Number.isFinite(endMs)) return;
    sink.record({
      traceId: root.traceId,
      spanId,
      ...(parentSpanId !== undefined && { parentSpanId }),
      name: part.name,
      kind: 'Internal',
      startMs,
      endMs,
      attributes: { 'k8s.namespace.name': namespace, 'agentfleet.task.name': name, ...part.attributes },
      ...(part.errorType !== undefined && { errorType: part.errorType }),
    });
  };
  for (const part of parts) record(part, newSpanId(), root.spanId);
  if (whole !== undefined) record(whole, root.spanId, parent?.spanId);
}
