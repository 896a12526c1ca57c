import { ResourceClient } from '@agentfleet/kube';
import type { ExpertPool, PlanStatus } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { expect } from 'vitest';
import { newPool } from '../../controllers/agenttask/testing/objects.ts';
import { slotLabel } from '../../placement/index.ts';
import { turnstileName } from '../../pools/names.ts';
import type { Deployment } from '../../runtime/objects.ts';
import { resources } from '../../runtime/resources.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';
import { gen, isReady, mostBytes, pools, publishGpus, remove, specialist } from './gpus.ts';

const gib = 2 ** 30;

type Expert = Readonly<Record<string, unknown>>;
type Assignments = PlanStatus['assignments'];

/** An engine that takes turns; what it is made of does not matter here. */
const turning = (expert: Expert, budget: string, slot = 'dgx-1/gpu0'): Expert => ({
  ...expert,
  residency: 'Swap',
  resources: { slot, memory: { budget } },
});
const generalist: Expert = { ...gen, domains: ['*'] };
const other = (name: string, budget: string, slot?: string): Expert => turning(specialist(name, ''), budget, slot);

const planned = (world: World): Assignments => pools(world).flatMap(({ status }) => status?.plan?.assignments ?? []);
const kinds = [resources.deployments, resources.services, resources.networkPolicies] as const;
const turnstiles = (world: World): readonly string[] =>
  kinds.flatMap((kind) =>
    world.server
      .objects(kind)
      .filter(({ metadata }) => metadata.labels?.[labels.component] === 'turnstile')
      .map(({ metadata }) => `${kind.plural} ${metadata.name}`),
  );

/** Deployments of engines that take turns and have pods where nobody says whose turn it is. */
function unturned(world: World): readonly string[] {
  const there = new Set(turnstiles(world));
  return world.server.objects<Deployment>(resources.deployments).flatMap(({ metadata, spec }) => {
    const slot = spec?.template?.metadata?.annotations?.[slotLabel];
    const place = planned(world).find(({ item }) => item === metadata.labels?.[labels.expert]);
    if (spec?.replicas === 0 || slot === undefined || place?.slot !== slot || place.awakeBytes === undefined) return [];
    return there.has(`deployments ${turnstileName('coding', slot)}`) ? [] : [metadata.name];
  });
}

/** Whoever is awake on a slot, the others asleep: it has room for that; and none has pods before its turnstile is there. */
function guardTurns(world: World): void {
  world.history.onChange((kind) => {
    if (kind === 'deployments.apps') for (const name of unturned(world)) world.watchman.fault(`${name} has pods and no turnstile`);
    if (kind !== 'expertpools.agentfleet.dev') return;
    for (const slot of new Set(planned(world).map((place) => place.slot))) {
      const here = planned(world).filter((place) => place.slot === slot);
      for (const awake of here) {
        const used = here.map((place) =>
          place === awake || place.awakeBytes === undefined ? (place.awakeBytes ?? place.bytes) : Math.min(place.awakeBytes, 1.5 * gib),
        );
        const bytes = used.reduce((sum, more) => sum + more, 0);
        if (bytes > mostBytes) world.watchman.fault(`${slot} has no room for ${awake.item} awake: ${bytes} bytes`);
      }
    }
  });
}

async function change(world: World, experts: readonly Expert[]): Promise<void> {
  const client = new ResourceClient<ExpertPool>(world.transport, resources.expertPools);
  await client.patch({ namespace: 'platform', name: 'coding' }, { spec: { experts } });
}

const places = (world: World): readonly string[] =>
  planned(world)
    .map(({ item, slot, bytes, awakeBytes = 0 }) => `${item} ${slot} ${bytes / gib} ${awakeBytes / gib}`)
    .sort();

/** Engines that take turns: how they come, grow, leave, move and stay by themselves. */
export const turns: readonly Scenario[] = [
  {
    name: 'engines take turns on a GPU, a bigger one comes, the biggest leaves, all move, and the last stays by itself',
    crew: 'all',
    pool: null,
    prepare: async (world) => {
      await publishGpus(world);
      guardTurns(world);
    },
    act: async (world) => {
      const first = turning(generalist, '20Gi');
      await world.createPool(newPool({ experts: [first, other('py', '16Gi'), other('js', '16Gi')] }));
      await world.until('all are ready', () => isReady(pools(world)[0]) && turnstiles(world).length === 4);
      await change(world, [first, other('py', '16Gi'), other('js', '25Gi')]);
      await world.until('one has grown', () => places(world).includes('js dgx-1/gpu0 6.5 25') && isReady(pools(world)[0]));
      await change(world, [first, other('py', '16Gi')]);
      await world.until('it is gone', () => planned(world).length === 2 && isReady(pools(world)[0]));
      const moved = [turning(generalist, '20Gi', 'dgx-1/gpu1'), other('py', '16Gi', 'dgx-1/gpu1')];
      await change(world, moved);
      await world.until('they have moved', () => planned(world).every(({ slot }) => slot === 'dgx-1/gpu1') && isReady(pools(world)[0]));
      await change(world, [{ ...generalist, resources: { slot: 'dgx-1/gpu1', memory: { budget: '20Gi' } }, residency: 'Always' }]);
      await world.until('no turnstile is left', () => turnstiles(world).length === 0 && isReady(pools(world)[0]));
      await remove(world, resources.expertPools, 'coding');
      await world.until('no claim is left', () => world.server.objects(resources.resourceClaims).length === 0);
    },
    ends: (world) => {
      expect(turnstiles(world)).toEqual([]);
      expect(world.server.objects(resources.deployments)).toEqual([]);
    },
  },
];
