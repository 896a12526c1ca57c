import { keyOf, type Clock } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import type { Registry } from 'prom-client';
import { Tenancy } from '../controllers/expertpool/index.ts';
import type { ReachConfig } from '../pools/consent.ts';
import type { Caches } from '../runtime/context.ts';
import { workerIndex } from '../runtime/taskIndexes.ts';
import { traitsOf } from '../runtime/taskTally.ts';
import { sampledGauge, type Sample } from './sampled.ts';

type TaskCaches = Pick<Caches, 'tasks' | 'pools' | 'poolGrants' | 'namespaces' | 'census' | 'pods'>;

/** What undoing the changes of a task may take beyond its deadline, ms. */
export const graceMs = 900_000;

/** Whether a task has begun, does not stand still, and has not ended long after its deadline. `now` is wall time in ms. Pure. */
export function isOverdue({ spec, status }: AgentTask, now: number): boolean {
  const { clock, finished } = status ?? {};
  if (clock === undefined || clock.pausedAt !== undefined || finished === 'true') return false;
  return Date.parse(clock.startedAt) + (clock.pausedSeconds + spec.deadlineSeconds) * 1000 + graceMs < now;
}

/** Tasks that a worker has or had; of those that wait there may be a million. */
function* begun(tasks: TaskCaches['tasks'], census: TaskCaches['census']): Generator<AgentTask, undefined> {
  const workers = new Set([...census.groups()].flatMap(({ worker }) => worker ?? []));
  for (const worker of workers) yield* tasks.lister.byIndex(workerIndex, worker);
  return undefined;
}

/** Overdue tasks by pool; empty: that of none. */
function overdue({ tasks, ...caches }: TaskCaches, reach: ReachConfig, now: number): readonly Sample[] {
  const tenancy = new Tenancy(caches, reach);
  const counts = new Map<string, number>([...caches.pools.lister.values()].map((pool) => [keyOf(pool), 0]));
  for (const task of begun(tasks, caches.census)) {
    if (!isOverdue(task, now)) continue;
    const pool = tenancy.poolOf(traitsOf(task));
    const key = pool === undefined ? '' : keyOf(pool);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].map(([pool, value]) => ({ labels: { pool }, value }));
}

/** Registers the gauge of tasks that nobody ends; they are counted when somebody asks. */
export function registerOverdue(registry: Registry, caches: TaskCaches, reach: ReachConfig, clock: Pick<Clock, 'now'>): void {
  sampledGauge(
    registry,
    {
      name: 'agentfleet_tasks_overdue',
      help: 'Number of AgentTasks that have not ended 15 minutes after their deadline, partitioned by pool.',
      labelNames: ['pool'],
    },
    () => overdue(caches, reach, clock.now()),
  );
}
