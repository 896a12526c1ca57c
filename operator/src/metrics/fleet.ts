import { keyOf, type Clock } from '@agentfleet/kube';
import { Gauge, type Registry } from 'prom-client';
import type { Caches } from '../runtime/context.ts';
import { hasNoPods, Tenancy } from '../controllers/expertpool/index.ts';
import type { ReachConfig } from '../pools/consent.ts';
import { isWorkerPod } from '../pools/resolve.ts';
import type { Heartbeats } from '../runtime/heartbeats.ts';
import { isReady } from '../serving/index.ts';
import type { AgentTask, Expert, ExpertPool } from '@agentfleet/protocol/api';
import { workerIndex, traitsOf } from '../runtime/taskCensus.ts';

/** Sources that the fleet's metrics are read from. */
export interface FleetMetricsOptions {
  readonly registry: Registry;
  readonly caches: Pick<Caches, 'census' | 'pools' | 'poolGrants' | 'pods' | 'namespaces' | 'energyModels'>;
  /** Namespaces that decide which pools reach where. */
  readonly reach: ReachConfig;
  readonly heartbeats: Heartbeats;
}

/** Labels and value of one series. A label that is left out is empty. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Registers a gauge that is read from what is known at each scrape, and has no series but those. */
export type SampledGauge = (name: string, help: string, labelNames: readonly string[], read: () => Iterable<Sample>) => void;

export function sampledGauges(registry: Registry): SampledGauge {
  return (name, help, labelNames, read) => {
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers: [registry],
      collect: () => {
        gauge.reset();
        for (const { labels, value } of read()) gauge.set({ ...labels }, value);
      },
    });
  };
}

/** Counts tasks by pool (`namespace/name`, empty: none takes it) and phase; those that have ended on the leader only. */
function tasksByPhase(caches: FleetMetricsOptions['caches'], reach: ReachConfig): Iterable<Sample> {
  const tenancy = new Tenancy(caches, reach);
  const counts = new Map<string, Sample>();
  for (const group of caches.census.groups()) {
    if (group.finished && !caches.census.isFollowed) continue;
    const found = tenancy.poolOf(group);
    const pool = found === undefined ? '' : keyOf(found);
    const { phase } = group;
    const key = `${pool} ${phase}`;
    counts.set(key, { labels: { pool, phase }, value: (counts.get(key)?.value ?? 0) + group.count });
  }
  return counts.values();
}

/**
 * Experts of the spec with pods that tasks are sent to. One that only a revision on trial has is none of them: the status, which is that of
 * the revision that serves, lists it later. Pure.
 */
export function servingExperts({ spec, status }: ExpertPool): readonly Expert[] {
  const listed = status?.experts && new Set(status.experts.map(({ name }) => name));
  return spec.experts.filter((expert) => !hasNoPods(expert) && listed?.has(expert.name) !== false);
}

/** Pods of each expert that answer tasks; none is reported too. Pods on trial have the labels of the expert, so the status counts. */
export function expertsReady({ pools }: Pick<FleetMetricsOptions['caches'], 'pools'>): readonly Sample[] {
  return [...pools.lister.values()].flatMap((pool) => {
    const ready = new Map(pool.status?.experts?.map((state) => [state.name, state.ready]));
    return servingExperts(pool).map(({ name, role }) => ({
      labels: { pool: keyOf(pool), expert: name, role },
      value: ready.get(name) ?? 0,
    }));
  });
}

/** Workers whose pod is ready and whose Lease is fresh. */
function workersReady({ caches, heartbeats }: FleetMetricsOptions, pool: ExpertPool): number {
  return caches.pods.lister
    .byIndex('pool', keyOf(pool))
    .filter((pod) => isWorkerPod(pod) && isReady(pod))
    .filter(({ metadata }) => heartbeats.freshMs(`${metadata.namespace ?? ''}/${metadata.name}`) > 0).length;
}

/** Registers the gauges of the fleet; they are computed from the caches at each scrape. */
export function registerFleetMetrics(options: FleetMetricsOptions): void {
  const { registry, caches, reach } = options;
  const { pools, energyModels } = caches;
  const gauge = sampledGauges(registry);
  gauge(
    'agentfleet_expert_ready',
    'Number of pods that answer tasks, partitioned by pool, expert and role; canaries and shadows do not count. Models behind an API and programs have none.',
    ['pool', 'expert', 'role'],
    () => expertsReady(caches),
  );
  gauge(
    'agentfleet_energymodel_ready',
    'Number of pods that score for tasks, partitioned by EnergyModel; canaries and golden sets do not count.',
    ['model'],
    // Pods of a golden set and of a revision on trial have the label of the model too: what counts is what serves.
    () => [...energyModels.lister.values()].map((model) => ({ labels: { model: keyOf(model) }, value: model.status?.ready ?? 0 })),
  );
  gauge('agentfleet_tasks', 'Number of AgentTasks, partitioned by the pool that takes them and by phase.', ['pool', 'phase'], () =>
    tasksByPhase(caches, reach),
  );
  gauge(
    'agentfleet_pool_workers_ready',
    'Number of workers whose pod is ready and whose Lease is fresh, partitioned by pool.',
    ['pool'],
    () => [...pools.lister.values()].map((pool) => ({ labels: { pool: keyOf(pool) }, value: workersReady(options, pool) })),
  );
}

type TaskCaches = Pick<Caches, 'tasks' | 'pools' | 'poolGrants' | 'namespaces' | 'census' | 'pods'>;

/** Time that undoing the changes of a task may take beyond its deadline, ms. */
export const graceMs = 900_000;

/** Reports whether a task has begun, does not stand still, and has not ended long after its deadline. `now` is wall time in ms. Pure. */
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

/** Registers the gauge of tasks that never end; they are counted at each scrape. */
export function registerOverdue(registry: Registry, caches: TaskCaches, reach: ReachConfig, clock: Pick<Clock, 'now'>): void {
  sampledGauges(registry)(
    'agentfleet_tasks_overdue',
    'Number of AgentTasks that have not ended 15 minutes after their deadline, partitioned by pool.',
    ['pool'],
    () => overdue(caches, reach, clock.now()),
  );
}
