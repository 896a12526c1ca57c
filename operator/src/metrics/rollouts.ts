import { keyOf, type KubeObject } from '@agentfleet/kube';
import { rolloutPhases, type RolloutStatus } from '@agentfleet/protocol/api';
import { type Registry, Counter } from 'prom-client';
import type { Caches } from '../runtime/context.ts';
import { sampledGauges, type Sample } from './fleet.ts';
import { rolloutLedgerName } from '../pools/names.ts';
import { noShadow, shadowIn, type ShadowTallies } from '../revisions/index.ts';

/** Registers the gauges of rollouts; they are read from the statuses of pools and models at each scrape. */
export function registerRolloutMetrics(registry: Registry, { pools, energyModels }: Pick<Caches, 'pools' | 'energyModels'>): void {
  const each = sampledGauges(registry);
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
    open().flatMap(({ of, failures = {} }) =>
      Object.entries(failures).map(([revision, value]) => ({ labels: { ...of, revision }, value })),
    ),
  );
  each('agentfleet_rollout_gate', 'Gates of rollouts: 1 for the verdict that it has.', ['pool', 'model', 'gate', 'verdict'], () =>
    open().flatMap(({ of, gates = [] }) => gates.map(({ name, verdict }) => ({ labels: { ...of, gate: name, verdict }, value: 1 }))),
  );
}

type Owner = KubeObject & { readonly status?: { readonly rollout?: RolloutStatus } };
type Named = () => readonly (readonly [string, ShadowTallies])[];
type Books = Pick<Caches, 'configMaps'>['configMaps'];

/** Registers what the books of rollouts hold of copies to a shadow; it is read from them at each scrape. */
export function registerShadowMetrics(
  registry: Registry,
  { pools, energyModels, configMaps }: Pick<Caches, 'pools' | 'energyModels' | 'configMaps'>,
): void {
  const ofPools: Named = () => reported(configMaps, pools.lister.values(), 'pool');
  const ofModels: Named = () => reported(configMaps, energyModels.lister.values(), 'model');
  registerDisagreements(registry, ofPools, ofModels);
  const copiesOf = (kind: string, all: ReturnType<Named>): readonly Sample[] =>
    all.flatMap(([owner, { copies }]) =>
      (['answered', 'failed', 'dropped'] as const).map((result) => ({ labels: { kind, owner, result }, value: copies[result] })),
    );
  sampledGauges(registry)(
    'agentfleet_shadow_copies',
    'Copies of requests of tasks that have ended, by what became of them.',
    ['kind', 'owner', 'result'],
    () => [...copiesOf('ExpertPool', ofPools()), ...copiesOf('EnergyModel', ofModels())],
  );
}

function reported(books: Books, owners: Iterable<Owner>, part: 'pool' | 'model'): ReturnType<Named> {
  return [...owners].flatMap((owner) => {
    const { id } = owner.status?.rollout ?? {};
    if (id === undefined) return [];
    const { name, namespace = '' } = owner.metadata;
    const book = books.lister.get(`${namespace}/${rolloutLedgerName(name, part)}`);
    return [[keyOf(owner), shadowIn(book?.data, id) ?? noShadow] as const];
  });
}

function registerDisagreements(registry: Registry, ofPools: Named, ofModels: Named): void {
  const registers = [registry];
  const models: Counter = new Counter({
    name: 'agentfleet_energymodel_shadow_disagreements_total',
    help: 'Acts that one of the verifiers refuses and the other one does not, in the rollout that goes on or was last.',
    labelNames: ['model', 'direction'],
    registers,
    collect: () => {
      models.reset();
      for (const [model, { acts }] of ofModels()) {
        models.inc({ model, direction: 'OnlyStableVetoed' }, acts.onlyFirst);
        models.inc({ model, direction: 'OnlyShadowVetoed' }, acts.onlySecond);
      }
    },
  });
  const experts: Counter = new Counter({
    name: 'agentfleet_expertpool_shadow_disagreements_total',
    help: 'Proposals whose first candidate is another one in the revision in shadow.',
    labelNames: ['pool'],
    registers,
    collect: () => {
      experts.reset();
      for (const [pool, { copies }] of ofPools()) experts.inc({ pool }, copies.candidates - copies.sameCandidates);
    },
  });
}
