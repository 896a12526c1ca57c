import { keyOf, type KubeObject } from '@agentfleet/kube';
import type { RolloutStatus } from '@agentfleet/protocol/api';
import { Counter, Gauge, type Registry } from 'prom-client';
import { rolloutLedgerName } from '../pools/names.ts';
import { noShadow, shadowIn, type ShadowTallies } from '../revisions/index.ts';
import type { Caches } from '../runtime/context.ts';

type Owner = KubeObject & { readonly status?: { readonly rollout?: RolloutStatus } };
type Named = () => readonly (readonly [string, ShadowTallies])[];
type Books = Pick<Caches, 'configMaps'>['configMaps'];

/** Registers what the books of rollouts hold of copies to a shadow; it is read from them when somebody asks. */
export function registerShadowMetrics(
  registry: Registry,
  { pools, energyModels, configMaps }: Pick<Caches, 'pools' | 'energyModels' | 'configMaps'>,
): void {
  const ofPools: Named = () => told(configMaps, pools.lister.values(), 'pool');
  const ofModels: Named = () => told(configMaps, energyModels.lister.values(), 'model');
  registerDisagreements(registry, ofPools, ofModels);
  const copies: Gauge = new Gauge({
    name: 'agentfleet_shadow_copies',
    help: 'Copies of requests of tasks that have ended, by what became of them.',
    labelNames: ['kind', 'owner', 'result'],
    registers: [registry],
    collect: () => {
      copies.reset();
      for (const [kind, all] of [['ExpertPool', ofPools()] as const, ['EnergyModel', ofModels()] as const])
        for (const [owner, tallies] of all)
          for (const result of ['answered', 'failed', 'dropped'] as const) copies.set({ kind, owner, result }, tallies.copies[result]);
    },
  });
}

function told(books: Books, owners: Iterable<Owner>, part: 'pool' | 'model'): ReturnType<Named> {
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
