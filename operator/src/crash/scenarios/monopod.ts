import { ResourceClient } from '@agentfleet/kube';
import type { ExpertPool } from '@agentfleet/protocol/api';
import { expect } from 'vitest';
import { newPool } from '../../controllers/agenttask/testing/objects.ts';
import { Rollouts } from '../../controllers/expertpool/testing/rollouts.ts';
import { pluginNode } from '../../controllers/placement/testing/plugin.ts';
import type { Deployment, Node } from '../../runtime/objects.ts';
import { resources } from '../../runtime/resources.ts';
import { enginesIn } from '../../serving/index.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';
import { digest, gen, isReady, pools, remove, specialist } from './gpus.ts';

const name = 'coding';
const found = (world: World): ExpertPool | undefined => pools(world).find(({ metadata }) => metadata.name === name);

const deployments = (world: World): readonly Deployment[] => world.server.objects<Deployment>(resources.deployments);
const engines = (world: World): readonly string[] =>
  deployments(world).flatMap(({ spec }) => (spec?.replicas === 0 ? [] : [...enginesIn(spec?.template).keys()]));

/** Looks at every version: an engine is in one pod alone, never in its own and in the one of all at once. */
function guardEngines(world: World): void {
  world.history.onChange((kind) => {
    if (kind !== 'deployments.apps') return;
    const all = engines(world);
    if (new Set(all).size < all.length) world.watchman.fault(`an engine is in two pods: ${all.join(', ')}`);
    const own = deployments(world).filter(
      ({ metadata, spec }) => spec?.replicas !== 0 && all.some((one) => metadata.name.endsWith(`-expert-${one}`)),
    );
    if (own.length > 0) world.watchman.fault(`${own.map(({ metadata }) => metadata.name).join(', ')} beside the pod of all engines`);
  });
}

async function furnish(world: World): Promise<void> {
  const { metadata, status } = pluginNode('one', 2);
  const nodes = new ResourceClient<Node>(world.transport, resources.nodes);
  await nodes.create({ metadata });
  await nodes.patch(metadata, { status }, { subresource: 'status' });
  guardEngines(world);
  Rollouts.join(world);
  world.ask = () => Promise.resolve({ modelDigest: `sha256:${'f'.repeat(64)}`, shadow: null, about: { artifactDigest: digest } });
}

const has = (world: World, ...names: readonly string[]): boolean => engines(world).join() === names.join() && isReady(found(world));

/** Engines that share GPUs of a device plugin in one pod: how they come, one goes, and all go. */
export const monopod: readonly Scenario[] = [
  {
    name: 'three engines come in one pod, one of them goes, and all go',
    crew: 'all',
    pool: null,
    prepare: furnish,
    act: async (world) => {
      const experts = [{ ...gen, replicas: 1 }, specialist('js', 'dgx-1/gpu1'), specialist('py', 'dgx-1/gpu1')];
      await world.createPool(newPool({ experts }));
      await world.until('all are in one pod', () => has(world, 'gen', 'js', 'py'));
      expect(found(world)?.status?.plan?.mode).toBe('Monopod');
      const client = new ResourceClient<ExpertPool>(world.transport, resources.expertPools);
      await client.patch({ namespace: 'platform', name }, { spec: { experts: experts.slice(0, 2) } });
      await world.until('two are in it', () => has(world, 'gen', 'js') && found(world)?.status?.plan?.assignments.length === 2);
      await remove(world, resources.expertPools, name);
      await world.until('no pod is left', () => deployments(world).length === 0);
    },
    ends: (world) => expect(world.server.objects(resources.deployments)).toEqual([]),
  },
];
