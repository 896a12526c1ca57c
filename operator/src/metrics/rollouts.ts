import { keyOf } from '@agentfleet/kube';
import { rolloutPhases } from '@agentfleet/protocol/api';
import { Gauge, type Registry } from 'prom-client';
import type { Caches } from '../runtime/context.ts';

/** Registers the gauges of rollouts; they are read from the statuses of pools and models when somebody asks. */
export function registerRolloutMetrics(registry: Registry, { pools, energyModels }: Pick<Caches, 'pools' | 'energyModels'>): void {
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
  // A series has one of the labels `pool` and `model`.
  const open = () =>
    [
      ...[...pools.lister.values()].map((pool) => ({ of: { pool: keyOf(pool) }, rollout: pool.status?.rollout })),
      ...[...energyModels.lister.values()].map((model) => ({ of: { model: keyOf(model) }, rollout: model.status?.rollout })),
    ].flatMap(({ of, rollout }) => (rollout === undefined ? [] : [{ of, ...rollout }]));
  each(
    'agentfleet_rollout_phase',
    'Phase of the rollout of a pool or a model: 1 for the one that it is in.',
    ['pool', 'model', 'phase'],
    (gauge) => {
      for (const { of, phase } of open()) for (const one of rolloutPhases) gauge.set({ ...of, phase: one }, Number(one === phase));
    },
  );
  each('agentfleet_rollout_weight', 'Percent of new tasks that go to the canary.', ['pool', 'model'], (gauge) => {
    for (const { of, weight } of open()) gauge.set(of, weight);
  });
  each('agentfleet_rollout_samples', 'Judged tasks of the canary.', ['pool', 'model'], (gauge) => {
    for (const { of, samples } of open()) gauge.set(of, samples);
  });
  each('agentfleet_rollout_failures', 'Failed rollouts, partitioned by revision.', ['pool', 'model', 'revision'], (gauge) => {
    for (const { of, failures = [] } of open()) for (const { revision, count } of failures) gauge.set({ ...of, revision }, count);
  });
  each('agentfleet_rollout_gate', 'What a gate says: 1 for its verdict.', ['pool', 'model', 'gate', 'verdict'], (gauge) => {
    for (const { of, gates = [] } of open()) for (const { name, verdict } of gates) gauge.set({ ...of, gate: name, verdict }, 1);
  });
}
