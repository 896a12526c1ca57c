import { keyOf, type Clock } from '@agentfleet/kube';
import { Gauge, type Registry } from 'prom-client';
import type { Caches } from '../runtime/context.ts';
import { hasNoPods, poolKey, Tenancy } from '../controllers/expertpool/index.ts';
import type { ReachConfig } from '../pools/consent.ts';
import { isWorkerPod } from '../pools/resolve.ts';
import type { Heartbeats } from '../runtime/heartbeats.ts';
import { isReady } from '../serving/index.ts';
import type { AgentTask, Expert, ExpertPool } from '@agentfleet/protocol/api';
import { workerIndex, traitsOf } from '../runtime/taskCensus.ts';

/** What the fleet's metrics are read from. */
export interface FleetMetricsOptions {
  readonly registry: Registry;
  readonly caches: Pick<Caches, 'census' | 'pools' | 'poolGrants' | 'pods' | 'namespaces' | 'energyModels'>;
  /** Which pools reach where. */
  readonly reach: ReachConfig;
  readonly heartbeats: Heartbeats;
}

/** Counts tasks by pool (`namespace/name`, empty: none takes it) and phase; those that have ended on the leader only. */
function tasksByPhase(
  caches: FleetMetricsOptions['caches'],
  reach: ReachConfig,
): readonly { readonly pool: string; readonly phase: string; readonly count: number }[] {
  const tenancy = new Tenancy(caches, reach);
  const counts = new Map<string, { pool: string; phase: string; count: number }>();
  for (const group of caches.census.groups()) {
    if (group.finished && !caches.census.isFollowed) continue;
    const found = tenancy.poolOf(group);
    const pool = found === undefined ? '' : poolKey(found);
    const { phase } = group;
    const known = counts.get(`${pool} ${phase}`) ?? { pool, phase, count: 0 };
    known.count += group.count;
    counts.set(`${pool} ${phase}`, known);
  }
  return [...counts.values()];
}

interface ServersReady {
  readonly pool: string;
  readonly expert: string;
  readonly role: string;
  readonly ready: number;
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
export function expertsReady({ pools }: Pick<FleetMetricsOptions['caches'], 'pools'>): readonly ServersReady[] {
  return [...pools.lister.values()].flatMap((pool) => {
    const ready = new Map(pool.status?.experts?.map((state) => [state.name, state.ready]));
    return servingExperts(pool).map(({ name, role }) => ({ pool: poolKey(pool), expert: name, role, ready: ready.get(name) ?? 0 }));
  });
}

function registerServers({ registry, caches }: FleetMetricsOptions): void {
  const experts: Gauge = new Gauge({
    name: 'agentfleet_expert_ready',
    help: 'Number of pods that answer tasks, partitioned by pool, expert and role; canaries and shadows do not count. Models behind an API and programs have none.',
    labelNames: ['pool', 'expert', 'role'],
    registers: [registry],
    collect: () => {
      experts.reset();
      for (const { ready, ...of } of expertsReady(caches)) experts.set(of, ready);
    },
  });
  const models: Gauge = new Gauge({
    name: 'agentfleet_energymodel_ready',
    help: 'Number of pods that score for tasks, partitioned by EnergyModel; canaries and golden sets do not count.',
    labelNames: ['model'],
    registers: [registry],
    collect: () => {
      models.reset();
      // Pods of a golden set and of a revision on trial have the label of the model too: what counts is what serves.
      for (const model of caches.energyModels.lister.values()) models.set({ model: keyOf(model) }, model.status?.ready ?? 0);
    },
  });
}

/** Registers the gauges of the fleet; they are computed from the caches at each scrape. */
export function registerFleetMetrics(options: FleetMetricsOptions): void {
  const { registry, caches, reach, heartbeats } = options;
  registerServers(options);
  const tasks: Gauge = new Gauge({
    name: 'agentfleet_tasks',
    help: 'Number of AgentTasks, partitioned by the pool that takes them and by phase.',
    labelNames: ['pool', 'phase'],
    registers: [registry],
    collect: () => {
      tasks.reset();
      for (const { pool, phase, count } of tasksByPhase(caches, reach)) tasks.set({ pool, phase }, count);
    },
  });
  const workers: Gauge = new Gauge({
    name: 'agentfleet_pool_workers_ready',
    help: 'Number of workers whose pod is ready and whose Lease is fresh, partitioned by pool.',
    labelNames: ['pool'],
    registers: [registry],
    collect: () => {
      workers.reset();
      for (const pool of caches.pools.lister.values()) {
        const ready = caches.pods.lister
          .byIndex('pool', poolKey(pool))
          .filter((pod) => isWorkerPod(pod) && isReady(pod))
          .filter(({ metadata }) => heartbeats.freshMs(`${metadata.namespace ?? ''}/${metadata.name}`) > 0);
        workers.set({ pool: poolKey(pool) }, ready.length);
      }
    },
  });
}

/** Labels and value of one series. A label that is left out is empty. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What a gauge is called, and by what it is partitioned. */
export interface Named {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

/** A gauge that is read from what is known at each scrape, and has no series but those. */
export function sampledGauge(registry: Registry, { name, help, labelNames }: Named, read: () => Iterable<Sample>): void {
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
}

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

/** Registers the gauge of tasks that never end; they are counted at each scrape. */
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
