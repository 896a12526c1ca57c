import { findCondition, type KubeObject } from '@agentfleet/kube';
import { failureClasses, type AgentTaskStatus } from '@agentfleet/protocol/api';
import { Counter, Histogram, type Registry } from 'prom-client';

const phases = ['Succeeded', 'Failed', 'Cancelled'] as const;
/** What became of what a task changed; None: nothing was to be undone. */
const rollbacks = ['None', 'Restored', 'Discarded', 'Kept', 'NotVerified'] as const;
/** Seconds, from a warm sandbox to a task of a day. */
const buckets = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 14_400, 86_400];

type Seen = Pick<AgentTaskStatus, 'phase' | 'conditions' | 'finished' | 'assignment' | 'attempts' | 'run'>;

/** Records the course of tasks in metrics, from the statuses that this process wrote. */
export interface TaskMetrics {
  written(task: Pick<KubeObject, 'metadata'>, before: Seen | undefined, after: Seen): void;
}

/**
 * Registers the metrics of ends, of the wait for a first worker and of the whole time of tasks. All series of failures exist
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
      if (after.finished !== 'true' || before?.finished === 'true') return;
      const phase = after.phase ?? '';
      const rollback = findCondition(after.conditions, 'RolledBack')?.reason ?? 'None';
      metrics.ends.inc({ phase, rollback, class: phase === 'Failed' ? classOf(after) : 'None' });
      const ended = findCondition(after.conditions, 'Finished')?.lastTransitionTime ?? '';
      observe(metrics.duration, { phase }, Date.parse(ended) - created);
    },
  };
}

interface Metrics {
  readonly ends: Counter;
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
  const queue = new Histogram({
    name: 'agentfleet_task_queue_seconds',
    help: 'Time from the creation of a task to its first assignment to a worker.',
    buckets,
    registers,
  });
  const duration = new Histogram({
    name: 'agentfleet_task_duration_seconds',
    help: 'Time from the creation of a task to its end, partitioned by phase.',
    labelNames: ['phase'],
    buckets,
    registers,
  });
  return { ends, queue, duration };
}

function registered(registry: Registry): Metrics {
  return {
    ends: registry.getSingleMetric('agentfleet_task_ends_total') as Counter,
    queue: registry.getSingleMetric('agentfleet_task_queue_seconds') as Histogram,
    duration: registry.getSingleMetric('agentfleet_task_duration_seconds') as Histogram,
  };
}

/** Of the last attempt; what never began failed by its spec. */
function classOf({ attempts, run }: Seen): string {
  return attempts?.at(-1)?.class ?? run?.outcome?.class ?? 'InvalidInput';
}

/** Clocks of two machines may disagree: a time is never below zero. */
function observe(histogram: Histogram, labels: Record<string, string>, ms: number): void {
  if (Number.isFinite(ms)) histogram.observe(labels, Math.max(0, ms / 1000));
}
