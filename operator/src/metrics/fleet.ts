import { keyOf } from '@agentfleet/kube';
import { Gauge, type Registry } from 'prom-client';
import type { Caches } from '../runtime/context.ts';
import { labels } from '@agentfleet/protocol/pool';
import { poolKey, Tenancy } from '../controllers/expertpool/index.ts';
import type { ReachConfig } from '../pools/consent.ts';
import { isWorkerPod } from '../pools/workerPods.ts';
import type { Heartbeats } from '../runtime/heartbeats.ts';
import { isReady } from '../serving/index.ts';

/** What the fleet's metrics are read from. */
export interface FleetMetricsOptions {
  readonly registry: Registry;
  readonly caches: Pick<Caches, 'census' | 'pools' | 'poolGrants' | 'pods' | 'namespaces' | 'energyModels'>;
  /** Which pools reach where. */
  readonly reach: ReachConfig;
  readonly heartbeats: Heartbeats;
}

/** Counts tasks by pool (`namespace/name`, empty: none takes it) and phase; those that have ended on the leader only. */
export function tasksByPhase(
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

/** Pods of each expert that answer; none is told too. */
export function expertsReady({ pools, pods }: FleetMetricsOptions['caches']): readonly ServersReady[] {
  return [...pools.lister.values()].flatMap((pool) => {
    const own = pods.lister.byIndex('pool', poolKey(pool)).filter(isReady);
    return pool.spec.experts.map(({ name, role }) => ({
      pool: poolKey(pool),
      expert: name,
      role,
      ready: own.filter((pod) => pod.metadata.labels?.[labels.expert] === name).length,
    }));
  });
}

function registerServers({ registry, caches }: FleetMetricsOptions): void {
  const experts: Gauge = new Gauge({
    name: 'agentfleet_expert_ready',
    help: 'Number of pods that answer, partitioned by pool, expert and role.',
    labelNames: ['pool', 'expert', 'role'],
    registers: [registry],
    collect: () => {
      experts.reset();
      for (const { ready, ...of } of expertsReady(caches)) experts.set(of, ready);
    },
  });
  const models: Gauge = new Gauge({
    name: 'agentfleet_energymodel_ready',
    help: 'Number of pods that score, partitioned by EnergyModel.',
    labelNames: ['model'],
    registers: [registry],
    collect: () => {
      models.reset();
      for (const model of caches.energyModels.lister.values())
        models.set({ model: keyOf(model) }, caches.pods.lister.byIndex('model', keyOf(model)).filter(isReady).length);
    },
  });
}

/** Registers the gauges of the fleet; they are computed from the caches when somebody asks. */
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
