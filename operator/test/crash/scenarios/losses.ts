import { findCondition, ResourceClient } from '@agentfleet/kube';
import { labels } from '@agentfleet/protocol/pool';
import { expect } from 'vitest';
import { newPool } from '../../../src/controllers/agenttask/testing/objects.ts';
import { device, onGpu, slice } from '../../../src/controllers/placement/testing/box.ts';
import { taint } from '../../../src/controllers/placement/testing/losses.ts';
import { type Node, type Pod, resources } from '../../../src/runtime/resources.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';
import { publishGpus, slotOf } from './gpus.ts';
import { isReady, pools } from './steps.ts';

const phaseOf = (world: World, item: string): string | undefined =>
  pools(world)[0]?.status?.experts?.find(({ name }) => name === item)?.phase;

const feasibleReason = (world: World): string | undefined =>
  findCondition(pools(world)[0]?.status?.conditions, 'PlacementFeasible')?.reason;
const podsOf = (world: World, item: string): readonly Pod[] =>
  world.server.objects(resources.pods).filter(({ metadata }) => metadata.labels?.[labels.expert] === item);
const nodesOf = ({ transport }: World): ResourceClient<Node> => new ResourceClient(transport, resources.nodes);

/** The driver publishes two GPUs, some of them sick. */
async function taintGpus(world: World, sick: readonly number[]): Promise<void> {
  const devices = [0, 1].map((index) => device(index, sick.includes(index) ? { taints: [taint()] } : {}));
  const { spec } = slice(devices, 'dgx-1', 2 + sick.length);
  await new ResourceClient(world.transport, resources.resourceSlices).patch({ name: 'dgx-1' }, { spec });
}

const expert = (name: string, role: string): object => ({ ...onGpu(name, role, '30Gi'), engine: { type: 'Synth' }, replicas: 1 });

/** Engines that give way when a GPU is lost. */
export const losses: readonly Scenario[] = [
  {
    name: 'a GPU is lost, the core takes the place of a specialist, and both have one in the end',
    controllerSet: 'all',
    pool: null,
    prepare: async (world) => {
      await publishGpus(world);
      await world.createPool(newPool({ experts: [expert('gen', 'Generalist'), expert('py', 'Specialist')] }));
      await world.until('all are ready', () => isReady(pools(world)[0]) && phaseOf(world, 'py') === 'Ready');
    },
    act: async (world) => {
      const [home, other] = [slotOf(world, 'gen'), slotOf(world, 'py')];
      await taintGpus(world, [Number(home?.at(-1))]);
      await world.until(
        'the core has the place of the specialist',
        () => slotOf(world, 'gen') === other && phaseOf(world, 'gen') === 'Ready',
      );
      expect(slotOf(world, 'py')).toBeUndefined();
      await taintGpus(world, []);
      await world.until('both have a place', () => slotOf(world, 'py') === home && phaseOf(world, 'py') === 'Ready');
    },
    ends: (world) => {
      expect(new Set([slotOf(world, 'gen'), slotOf(world, 'py')])).toEqual(new Set(['dgx-1/gpu0', 'dgx-1/gpu1']));
      expect(world.server.objects(resources.resourceClaims)).toHaveLength(2);
    },
  },
  {
    name: 'a node is cordoned, an engine waits for it, and comes when it takes pods again',
    controllerSet: 'all',
    pool: null,
    prepare: async (world) => {
      await publishGpus(world);
      await nodesOf(world).create({ metadata: { name: 'dgx-1' }, spec: { unschedulable: true } });
      await world.createPool(newPool({ experts: [expert('gen', 'Generalist')] }));
      await world.until('the engine waits', () => feasibleReason(world) === 'NodeCordoned');
    },
    act: async (world) => {
      expect(slotOf(world, 'gen')).toBeUndefined();
      await nodesOf(world).patch({ name: 'dgx-1' }, { spec: { unschedulable: false } });
      // Long before everything is looked at anew.
      await world.until('it has a place', () => slotOf(world, 'gen') !== undefined, 200);
      await world.until('it is ready', () => phaseOf(world, 'gen') === 'Ready');
    },
    ends: (world) => {
      expect(feasibleReason(world)).toBe('Placed');
    },
  },
  {
    name: 'a node is drained, its engine runs there to its end, and goes to another node',
    controllerSet: 'all',
    pool: null,
    prepare: async (world) => {
      await publishGpus(world);
      await new ResourceClient(world.transport, resources.resourceSlices).create(slice([device(2)], 'dgx-2'));
      for (const name of ['dgx-1', 'dgx-2']) await nodesOf(world).create({ metadata: { name } });
      await world.createPool(newPool({ experts: [expert('gen', 'Generalist')] }));
      await world.until('it is ready', () => phaseOf(world, 'gen') === 'Ready');
      expect(slotOf(world, 'gen')).toBe('dgx-1/gpu0');
      await nodesOf(world).patch({ name: 'dgx-1' }, { spec: { unschedulable: true } });
      await world.pass(10);
      expect(podsOf(world, 'gen').map(({ spec }) => spec?.nodeName)).toEqual(['dgx-1']);
    },
    act: async (world) => {
      const [pod] = podsOf(world, 'gen');
      if (pod !== undefined) await world.pods.delete(pod.metadata, { gracePeriodSeconds: 0 });
      // Long before everything is looked at anew.
      await world.until('it has another place', () => slotOf(world, 'gen') === 'dgx-2/gpu0', 200);
      await world.until('it runs there', () => phaseOf(world, 'gen') === 'Ready' && podsOf(world, 'gen').length === 1);
      await nodesOf(world).patch({ name: 'dgx-1' }, { spec: { unschedulable: false } });
    },
    ends: (world) => {
      expect(podsOf(world, 'gen').map(({ spec }) => spec?.nodeName)).toEqual(['dgx-2']);
      expect(slotOf(world, 'gen')).toBe('dgx-2/gpu0');
      expect(world.server.objects(resources.resourceClaims)).toHaveLength(1);
    },
  },
];
