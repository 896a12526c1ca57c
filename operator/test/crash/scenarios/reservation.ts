import { isConflict, isNotFound, ResourceClient } from '@agentfleet/kube';
import type { EnergyModel } from '@agentfleet/protocol/api';
import { expect } from 'vitest';
import { newModel } from '../../../src/controllers/energymodel/testing/models.ts';
import { Rollouts } from '../../../src/controllers/expertpool/testing/rollouts.ts';
import { holderView } from '../../../src/controllers/placement/reserve/holders.ts';
import { isReserve } from '../../../src/controllers/placement/reserve/writer.ts';
import { board, pluginNode } from '../../../src/controllers/placement/testing/plugin.ts';
import { type Deployment, type Node, type Pod, resources } from '../../../src/runtime/resources.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';
import { digest, guardSlots } from './gpus.ts';
import { answerWith, isReady, modelClient, models, remove } from './steps.ts';

const gpus = 2;

const reserve = (world: World): readonly Pod[] => world.server.objects<Pod>(resources.pods).filter(isReserve);
const holderOf = (world: World, slot: string): Pod | undefined => reserve(world).find((pod) => holderView(pod)?.slot === slot);

/** Plays the device plugin and the kubelet of its node: a pod gets the lowest free board. */
function startKubelet(world: World): ReadonlyMap<string, string> {
  const boards = new Map<string, string>();
  const client = new ResourceClient<Pod>(world.transport, resources.pods);
  const tell = async (pod: Pod, phase: string, answer: object): Promise<void> => {
    const terminated = { exitCode: 0, message: JSON.stringify(answer) };
    const statuses = [{ name: 'x', ready: true, restartCount: 0, state: { terminated } }];
    const status = { phase, initContainerStatuses: statuses, containerStatuses: statuses };
    await client.patch(pod.metadata, { status }, { subresource: 'status' }).catch((error: unknown) => {
      if (!isConflict(error) && !isNotFound(error)) throw error; // it is gone
    });
  };
  world.actors.push(async () => {
    for (const pod of reserve(world)) {
      if (pod.status?.phase !== undefined) continue;
      const { uid = '' } = pod.metadata;
      if (holderView(pod) === undefined) {
        await tell(pod, 'Succeeded', { gpus });
        continue;
      }
      const held = new Set(reserve(world).map(({ metadata }) => boards.get(metadata.uid ?? '')));
      const free = Array.from({ length: gpus }, (_, index) => board(index)).find((uuid) => !held.has(uuid));
      if (free === undefined) continue;
      boards.set(uid, free);
      await tell(pod, 'Running', { uuid: free });
    }
  });
  return boards;
}

/** Looks at every version: a slot has one holder, and engines are on the board that theirs has. */
function guardHolders(world: World, boards: ReadonlyMap<string, string>): void {
  world.history.onChange((kind) => {
    if (kind !== 'pods' && kind !== 'deployments.apps') return;
    const slots = reserve(world).flatMap((pod) => holderView(pod)?.slot ?? []);
    if (new Set(slots).size < slots.length) world.checker.fault(`two pods hold one slot: ${slots.join(', ')}`);
    if (reserve(world).length - slots.length > 1) world.checker.fault('two pods ask a node');
    for (const { metadata, spec } of world.server.objects<Deployment>(resources.deployments)) {
      const own = spec?.template?.metadata?.annotations ?? {};
      if (own['agentfleet.dev/slot'] === undefined || spec?.replicas === 0) continue;
      const reported = boards.get(own['agentfleet.dev/gpu-holder'] ?? '');
      if (reported !== own['agentfleet.dev/gpu-uuid'])
        world.checker.fault(`${metadata.name} is on ${own['agentfleet.dev/gpu-uuid'] ?? 'no GPU'}`);
    }
  });
}

async function furnish(world: World): Promise<void> {
  const { transport } = world;
  const { metadata, status } = pluginNode('one', gpus);
  const nodes = new ResourceClient<Node>(transport, resources.nodes);
  await nodes.create({ metadata });
  await nodes.patch(metadata, { status }, { subresource: 'status' });
  await new ResourceClient(transport, resources.runtimeClasses).create({ metadata: { name: 'nvidia' }, handler: 'nvidia' });
  guardSlots(world);
  guardHolders(world, startKubelet(world));
  Rollouts.join(world);
  answerWith(world, digest);
}

const create = (world: World, name: string, slot: string, namespace = 'platform'): Promise<unknown> => {
  const model = newModel({ resources: { slot, memory: { budget: '5Gi' } } });
  return modelClient(world).create({ ...model, metadata: { name, namespace } });
};
const model = (world: World, name: string): EnergyModel | undefined => models(world).find(({ metadata }) => metadata.name === name);
const place = (world: World, name: string) => model(world, name)?.status?.plan?.assignments[0];

async function loseHolder(world: World): Promise<void> {
  const before = holderOf(world, 'dgx-1/gpu0')?.metadata;
  if (before === undefined) throw new Error('nobody holds dgx-1/gpu0');
  await new ResourceClient<Pod>(world.transport, resources.pods).delete(before, { gracePeriodSeconds: 0 });
  const again = (): boolean => place(world, 'judge')?.holder !== undefined && place(world, 'judge')?.holder !== before.uid;
  await world.until('it is held again', () => again() && isReady(model(world, 'judge')));
}

/** Engines on GPUs of a device plugin: how they come, lose the pod that holds theirs, and go. */
export const reservation: readonly Scenario[] = [
  {
    name: 'a model comes to a GPU, the pod that holds it is lost, and it goes',
    controllerSet: 'all',
    pool: null,
    prepare: furnish,
    act: async (world) => {
      await create(world, 'judge', 'dgx-1/gpu0');
      await world.until('it is ready', () => isReady(model(world, 'judge')));
      await loseHolder(world);
      await remove(world, resources.energyModels, 'judge');
      await world.until('nothing is held', () => reserve(world).length === 0);
    },
    ends: (world) => expect(world.server.objects(resources.deployments)).toEqual([]),
  },
];

/** The same with several, one of which moves, and with another namespace that follows them. */
export const reservations: readonly Scenario[] = [
  {
    name: 'two models share what is held, its holder is lost, one moves, and another namespace follows them',
    controllerSet: 'all',
    pool: null,
    prepare: furnish,
    act: async (world) => {
      await create(world, 'judge', 'dgx-1/gpu0');
      await create(world, 'second', 'dgx-1/gpu0');
      const both = (): boolean => isReady(model(world, 'judge')) && isReady(model(world, 'second'));
      await world.until('both are ready', both);
      await loseHolder(world);
      const resourcesOf = { replicas: 1, slot: 'dgx-1/gpu1', memory: { budget: '5Gi' } };
      await modelClient(world).patch({ namespace: 'platform', name: 'second' }, { spec: { resources: resourcesOf } });
      await world.until('one has moved', () => place(world, 'second')?.slot === 'dgx-1/gpu1' && both());
      await create(world, 'judge', 'dgx-1/gpu0', 'team');
      for (const name of ['judge', 'second']) await remove(world, resources.energyModels, name);
      const follower = (): EnergyModel | undefined => models(world).find(({ metadata }) => metadata.namespace === 'team');
      await world.until('the other namespace has it', () => isReady(follower()));
      await remove(world, resources.energyModels, 'judge', 'team');
      await world.until('nothing is held', () => reserve(world).length === 0);
    },
    ends: (world) => expect(world.server.objects(resources.deployments)).toEqual([]),
  },
];
