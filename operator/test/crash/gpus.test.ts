import { expect, test } from 'vitest';
import { newPool } from '../../src/controllers/agenttask/testing/objects.ts';
import { onGpu } from '../../src/controllers/placement/testing/box.ts';
import { slotLabel } from '../../src/placement/index.ts';
import { resources } from '../../src/runtime/resources.ts';
import { sampledCrashes } from './sampled.ts';
import { canaries } from './scenarios/canaries.ts';
import { gen, gpus, publishGpus, specialist } from './scenarios/gpus.ts';
import { isReady, patchPool, pools } from './scenarios/steps.ts';
import { crashSuite } from './suite.ts';
import { World } from './world.ts';

crashSuite('engines on GPUs', gpus);

sampledCrashes('no GPU twice', canaries, 8);

test('an operator that watches some namespaces gives GPUs away by its rights in these alone', async () => {
  const namespaces = ['platform', 'agentfleet-system'];
  await using world = await World.start({ controllerSet: 'all', seed: 1, pool: undefined, injection: () => undefined, namespaces });
  await publishGpus(world);
  await world.createPool(newPool({ experts: [gen], allowedNamespaces: { from: 'Same' } }));
  await world.startOperator();
  await world.until('the pool is ready', () => isReady(pools(world)[0]));
  expect(world.checker.faults).toEqual([]);
});

test('pods that have ended have no GPU, and what they leave is given away at once', async () => {
  await using world = await World.start({ controllerSet: 'all', seed: 1, pool: undefined, injection: () => undefined });
  await publishGpus(world);
  await world.createPool(newPool({ experts: [gen, specialist('py', 'dgx-1/gpu1')] }));
  await world.startOperator();
  await world.until('the pool is ready', () => isReady(pools(world)[0]));
  // Deployments count no pod that has ended, and leave it.
  const old = world.server.objects(resources.pods).filter(({ metadata }) => metadata.annotations?.[slotLabel] !== undefined);
  for (const { metadata } of old) {
    const { name, namespace = '', labels = {}, annotations = {} } = metadata;
    await world.pods.create({ metadata: { name: `${name}-old`, namespace, labels, annotations } });
  }
  const phase = async (now: 'Running' | 'Failed'): Promise<void> => {
    for (const { metadata } of old)
      await world.pods.patch({ ...metadata, name: `${metadata.name}-old` }, { status: { phase: now } }, { subresource: 'status' });
  };
  await phase('Running');
  await patchPool(world, { experts: [{ ...gen, ...onGpu('gen', 'Generalist', '30Gi', 'dgx-1/gpu1') }] });
  await world.rest();
  const places = () =>
    pools(world)[0]
      ?.status?.plan?.assignments.map(({ item, slot, admitted }) => `${item} ${slot} ${admitted}`)
      .join();
  expect(places()).toBe('gen dgx-1/gpu0 true,py dgx-1/gpu1 true');
  await phase('Failed');
  await world.until('the engine has moved', () => places() === 'gen dgx-1/gpu1 true', 100);
});
