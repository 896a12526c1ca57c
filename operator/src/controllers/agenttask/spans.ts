import type { AgentTask, AgentTaskStatus } from '@agentfleet/protocol/api';
import { newSpanId, traceOfTask, type Attributes, type Tracing } from '@agentfleet/protocol/tracing';
import { findCondition } from '@agentfleet/kube';
import { classOf, readyAt } from './attempts.ts';

type Seen = Pick<AgentTaskStatus, 'phase' | 'conditions' | 'finished' | 'assignment' | 'attempts' | 'run' | 'totals'>;

interface Part {
  readonly name: string;
  /** RFC 3339, or ms since 1970. */
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly attributes?: Attributes;
  readonly errorType?: string;
}

/** What a written status ended: waits for worker and sandbox, and the whole task. Pure. */
export function partsEnded(
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
