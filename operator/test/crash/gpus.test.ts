import { expect, test } from 'vitest';
import { newPool } from '../../src/controllers/agenttask/testing/objects.ts';
import { sampledCrashes } from './sampled.ts';
import { canaries } from './scenarios/canaries.ts';
import { gen, gpus, isReady, pools, publishGpus } from './scenarios/gpus.ts';
import { crashSuite } from './suite.ts';
import { World } from './world.ts';

crashSuite('engines on GPUs', gpus);

sampledCrashes('no GPU twice', canaries, 8);

test('an operator that watches some namespaces gives GPUs away by its rights in these alone', async () => {
  const namespaces = ['platform', 'agentfleet-system'];
  await using world = await World.start({ crew: 'all', seed: 1, pool: undefined, fate: () => undefined, namespaces });
  await publishGpus(world);
  await world.createPool(newPool({ experts: [gen], allowedNamespaces: { from: 'Same' } }));
  await world.startOperator();
  await world.until('the pool is ready', () => isReady(pools(world)[0]));
  expect(world.watchman.faults).toEqual([]);
});
