import { keyOf } from '@agentfleet/kube';
import { rolloutPhases } from '@agentfleet/protocol/api';
import { Gauge, type Registry } from 'prom-client';
import type { Caches } from '../runtime/context.ts';

/** Registers the gauges of rollouts; they are read from the statuses of the pools when somebody asks. */
export function registerRolloutMetrics(registry: Registry, { pools }: Pick<Caches, 'pools'>): void {
  const each = (name: string, help: string, labelNames: readonly string[], collect: (gauge: Gauge) => void): void => {
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers: [registry],
      collect: () => {
        gauge.reset();
        collect(gauge);
      },
    });
  };
  const open = () =>
    [...pools.lister.values()].flatMap((pool) =>
      pool.status?.rollout === undefined ? [] : [{ pool: keyOf(pool), ...pool.status.rollout }],
    );
  each('agentfleet_rollout_phase', 'Phase of the rollout of a pool: 1 for the one that it is in.', ['pool', 'phase'], (gauge) => {
    for (const { pool, phase } of open()) for (const one of rolloutPhases) gauge.set({ pool, phase: one }, Number(one === phase));
  });
  each('agentfleet_rollout_weight', 'Percent of new tasks that go to the canary.', ['pool'], (gauge) => {
    for (const { pool, weight } of open()) gauge.set({ pool }, weight);
  });
  each('agentfleet_rollout_samples', 'Judged tasks of the canary.', ['pool'], (gauge) => {
    for (const { pool, samples } of open()) gauge.set({ pool }, samples);
  });
  each('agentfleet_rollout_failures', 'Failed rollouts, partitioned by revision.', ['pool', 'revision'], (gauge) => {
    for (const { pool, failures = [] } of open()) for (const { revision, count } of failures) gauge.set({ pool, revision }, count);
  });
  each('agentfleet_rollout_gate', 'What a gate says: 1 for its verdict.', ['pool', 'gate', 'verdict'], (gauge) => {
    for (const { pool, gates = [] } of open()) for (const { name, verdict } of gates) gauge.set({ pool, gate: name, verdict }, 1);
  });
}
