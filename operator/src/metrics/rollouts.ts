import { keyOf } from '@agentfleet/kube';
import { rolloutPhases } from '@agentfleet/protocol/api';
import type { Registry } from 'prom-client';
import type { Caches } from '../runtime/context.ts';
import { sampledGauge, type Sample } from './sampled.ts';

/** Registers the gauges of rollouts; they are read from the statuses of pools and models when somebody asks. */
export function registerRolloutMetrics(registry: Registry, { pools, energyModels }: Pick<Caches, 'pools' | 'energyModels'>): void {
  const each = (name: string, help: string, labelNames: readonly string[], read: () => Iterable<Sample>): void =>
    sampledGauge(registry, { name, help, labelNames }, read);
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
    () => open().flatMap(({ of, phase }) => rolloutPhases.map((one) => ({ labels: { ...of, phase: one }, value: Number(one === phase) }))),
  );
  each('agentfleet_rollout_weight', 'Percent of new tasks that go to the canary.', ['pool', 'model'], () =>
    open().map(({ of, weight }) => ({ labels: of, value: weight })),
  );
  each('agentfleet_rollout_samples', 'Judged tasks of the canary.', ['pool', 'model'], () =>
    open().map(({ of, samples }) => ({ labels: of, value: samples })),
  );
  each('agentfleet_rollout_failures', 'Failed rollouts, partitioned by revision.', ['pool', 'model', 'revision'], () =>
    open().flatMap(({ of, failures = [] }) => failures.map(({ revision, count }) => ({ labels: { ...of, revision }, value: count }))),
  );
  each('agentfleet_rollout_gate', 'What a gate says: 1 for its verdict.', ['pool', 'model', 'gate', 'verdict'], () =>
    open().flatMap(({ of, gates = [] }) => gates.map(({ name, verdict }) => ({ labels: { ...of, gate: name, verdict }, value: 1 }))),
  );
}
