import { ResourceClient } from '@agentfleet/kube';
import { expect } from 'vitest';
import { newPool } from '../../../src/controllers/agenttask/testing/objects.ts';
import { newModel } from '../../../src/controllers/energymodel/testing/models.ts';
import { Rollouts } from '../../../src/controllers/expertpool/testing/rollouts.ts';
import { device, gpuDriver, onGpu, slice } from '../../../src/controllers/placement/testing/box.ts';
import { type Deployment, resources } from '../../../src/runtime/resources.ts';
import { rolledOut } from '../../../src/serving/index.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';
import { answerWith, isReady, modelClient, models, patchPool, pools, remove } from './steps.ts';

/** Bytes that a slot of the box holds at most: a GPU of 40 GiB without the driver's half. */
export const mostBytes = 39.5 * 2 ** 30;

export const digest = `sha256:${'c'.repeat(64)}`;
/** Defaults are written out: nothing fills them in when a pool is patched. */
const engine = { engine: { type: 'Synth' }, replicas: 1 };
export const gen = { ...onGpu('gen', 'Generalist', '30Gi', 'dgx-1/gpu0'), ...engine };
export const specialist = (name: string, slot: string) => ({ ...onGpu(name, 'Specialist', '9Gi', slot), domains: [name], ...engine });

/** Looks at every version of every plan and every Deployment: memory is given away once, and one engine starts at a time. */
export function guardSlots(world: World): void {
  world.history.onChange((kind) => {
    if (!['expertpools.agentfleet.dev', 'energymodels.agentfleet.dev', 'deployments.apps'].includes(kind)) return;
    const taken = new Map<string, number>();
    for (const { status } of [...pools(world), ...models(world)])
      for (const { slot, bytes } of status?.plan?.assignments ?? []) taken.set(slot, (taken.get(slot) ?? 0) + bytes);
    for (const [slot, bytes] of taken) if (bytes > mostBytes) world.checker.fault(`${slot} was given away twice: ${bytes} bytes`);
    const starting = new Map<string, string[]>();
    for (const deployment of world.server.objects<Deployment>(resources.deployments)) {
      const slot = deployment.spec?.template?.metadata?.annotations?.['agentfleet.dev/slot'];
      const { replicas = 1 } = deployment.spec ?? {};
      if (slot === undefined || replicas === 0 || rolledOut(deployment, replicas)) continue;
      starting.set(slot, [...(starting.get(slot) ?? []), deployment.metadata.name]);
    }
    for (const [slot, names] of starting) if (names.length > 1) world.checker.fault(`${names.join(', ')} start on ${slot} at once`);
  });
}

/** Two GPUs, with a look at who has what of them. */
export async function publishGpus(world: World): Promise<void> {
  const { transport } = world;
  await new ResourceClient(transport, resources.deviceClasses).create({ metadata: { name: gpuDriver.deviceClass } });
  await new ResourceClient(transport, resources.resourceSlices).create(slice([device(0), device(1)]));
  guardSlots(world);
  Rollouts.join(world);
  answerWith(world, digest);
}

/** Returns the slot of an item of the pool; undefined: it has none. */
export const slotOf = (world: World, item: string): string | undefined =>
  pools(world)[0]?.status?.plan?.assignments.find((place) => place.item === item)?.slot;

/** Engines on GPUs: how they come, move and go. */
export const gpus: readonly Scenario[] = [
  {
    name: 'a pool and a model come to two GPUs, one of them moves, and they go',
    controllerSet: 'all',
    pool: null,
    prepare: publishGpus,
    act: async (world) => {
      await world.createPool(newPool({ experts: [gen, specialist('py', 'dgx-1/gpu1'), specialist('js', 'dgx-1/gpu1')] }));
      await modelClient(world).create(newModel({ resources: { slot: 'dgx-1/gpu1', memory: { budget: '5Gi' } } }));
      await world.until('all are ready', () => isReady(pools(world)[0]) && isReady(models(world)[0]));
      const smaller = { ...gen, resources: { slot: 'dgx-1/gpu0', memory: { budget: '20Gi' } } };
      await patchPool(world, { experts: [smaller, specialist('py', 'dgx-1/gpu0'), specialist('js', 'dgx-1/gpu1')] });
      await world.until('py has moved', () => slotOf(world, 'py') === 'dgx-1/gpu0' && isReady(pools(world)[0]));
      await remove(world, resources.expertPools, 'coding');
      await remove(world, resources.energyModels, 'judge');
      await world.until('no claim is left', () => world.server.objects(resources.resourceClaims).length === 0);
    },
    ends: (world) => expect(world.server.objects(resources.deployments)).toEqual([]),
  },
];
