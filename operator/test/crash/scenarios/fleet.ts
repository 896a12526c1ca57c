import type { KubeObject, Resource } from '@agentfleet/kube';
import { expect } from 'vitest';
import { newPool, newTask } from '../../../src/controllers/agenttask/testing/objects.ts';
import { obedient, playWorkers, succeeds } from '../../../src/controllers/agenttask/testing/scriptedWorker.ts';
import { newModel } from '../../../src/controllers/energymodel/testing/models.ts';
import { Rollouts } from '../../../src/controllers/expertpool/testing/rollouts.ts';
import { resources } from '../../../src/runtime/resources.ts';
import { sweepEveryMs } from '../../../src/runtime/taskCensus.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';
import { answerWith, isReady, modelClient, models, oneWaits, over, patchPool, pools, remove } from './steps.ts';

const digest = `sha256:${'c'.repeat(64)}`;
const nextDigest = `sha256:${'d'.repeat(64)}`;

const specialist = { name: 'py', role: 'Specialist', domains: ['python'], engine: { type: 'Synth' } };
const generalist = { name: 'gen', role: 'Generalist', domains: ['*'], engine: { type: 'Synth' }, replicas: 1 };

const poolIsReady = (world: World): Promise<void> => world.until('the pool is ready', () => isReady(pools(world)[0]));
const modelIsReady = (world: World): Promise<void> =>
  world.until('the model is ready', () => isReady(models(world)[0]) && models(world)[0]?.status?.arms?.[0]?.digest === digest);

const names = (world: World, resource: Resource): readonly string[] =>
  world.server.objects(resource).map(({ metadata }: KubeObject) => `${metadata.namespace ?? ''}/${metadata.name}`);

/** A pool that is ready before anything counts. */
async function withPool(world: World): Promise<void> {
  Rollouts.join(world);
  await poolIsReady(world);
}

async function withModel(world: World): Promise<void> {
  Rollouts.join(world);
  answerWith(world, digest);
  await modelClient(world).create(newModel());
}

/** Kinds that pools consist of, and kinds that stand for them elsewhere. */
const kinds = [resources.deployments, resources.services, resources.networkPolicies, resources.roleBindings, resources.serviceAccounts];

/** Pools and models: how they come, change and go. */
export const fleet: readonly Scenario[] = [
  {
    name: 'a pool is brought up',
    controllerSet: 'all',
    pool: null,
    act: async (world) => {
      Rollouts.join(world);
      await world.createPool(newPool());
      await poolIsReady(world);
    },
    ends: (world) => expect(names(world, resources.deployments)).toEqual(['platform/coding-expert-gen', 'platform/coding-workers']),
  },
  {
    name: 'an expert of a pool is exchanged, and its policy changes',
    controllerSet: 'all',
    pool: { experts: [generalist, specialist] },
    prepare: withPool,
    act: async (world) => {
      await patchPool(world, {
        experts: [generalist, { ...specialist, name: 'go', domains: ['go'] }],
        policy: { allowUnenforcedNetwork: true },
      });
      await world.until('the other expert is there', () => names(world, resources.services).includes('platform/coding-expert-go'));
      await poolIsReady(world);
      await world.until('the old one is gone', () => !names(world, resources.services).includes('platform/coding-expert-py'));
    },
    ends: (world) =>
      expect(names(world, resources.deployments)).toEqual([
        'platform/coding-expert-gen',
        'platform/coding-expert-go',
        'platform/coding-workers',
      ]),
  },
  {
    name: 'a pool is deleted, and what stood for it goes',
    controllerSet: 'all',
    pool: { sandbox: { warm: [{ namespace: 'team', replicas: 1 }] } },
    prepare: async (world) => {
      await withPool(world);
      await oneWaits(world);
    },
    act: async (world) => {
      await remove(world, resources.expertPools, 'coding');
      await world.until('nothing is left', () => kinds.every((kind) => names(world, kind).length === 0) && world.sandboxes().length === 0);
    },
    ends: (world) => expect(world.server.objects(resources.pods)).toEqual([]),
  },
  {
    name: 'a task comes to a namespace, runs, and goes with what it needed',
    controllerSet: 'all',
    pool: {},
    prepare: withPool,
    act: async (world) => {
      playWorkers(world, obedient(succeeds));
      await world.create(newTask('one'));
      await over(world, 'one');
      await world.tasks.delete({ namespace: 'team', name: 'one' });
      // That a finished task is gone is seen when all of them are looked at.
      await world.pass(sweepEveryMs / 1000, 60);
      await world.until('the access is gone', () => !names(world, resources.roleBindings).some((name) => name.startsWith('team/')));
      await world.until('the wall is gone', () => !names(world, resources.networkPolicies).some((name) => name.startsWith('team/')));
      await poolIsReady(world);
    },
    ends: (world) => expect(world.taskNames()).toEqual([]),
  },
  {
    name: 'sandboxes that wait follow what the pool asks for',
    pool: { sandbox: { warm: [{ namespace: 'team', replicas: 2 }] } },
    prepare: (world) => world.until('two wait', () => world.waiting().length === 2),
    act: async (world) => {
      const before = new Set(world.waiting().map(({ metadata }) => metadata.uid));
      await patchPool(world, { sandbox: { template: { image: 'tools:2' } } });
      const fresh = (): boolean => world.waiting().length === 2 && world.waiting().every(({ metadata }) => !before.has(metadata.uid));
      await world.until('others wait', fresh);
      await patchPool(world, { sandbox: { warm: [{ namespace: 'team', replicas: 1 }] } });
      await oneWaits(world);
    },
    ends: (world) => expect(world.sandboxes()).toHaveLength(1),
  },
  {
    name: 'a model is brought up',
    controllerSet: 'all',
    pool: null,
    act: async (world) => {
      await withModel(world);
      await modelIsReady(world);
    },
    ends: (world) => {
      expect(isReady(models(world)[0])).toBe(true);
      expect(models(world)[0]?.status).toMatchObject({ ready: 1 });
    },
  },
  {
    name: 'a model changes its artifact and its thresholds, and goes',
    controllerSet: 'all',
    pool: null,
    prepare: async (world) => {
      await withModel(world);
      await modelIsReady(world);
    },
    act: async (world) => {
      const client = modelClient(world);
      const at = { namespace: 'platform', name: 'judge' };
      // Another artifact, whose hash the spec demands: the old pods report the old one until they are replaced.
      answerWith(world, nextDigest);
      await client.patch(at, { spec: { artifact: { uri: 'builtin://features-v2', digest: nextDigest } } });
      await world.until(
        'the other artifact is reported',
        () => isReady(models(world)[0]) && models(world)[0]?.status?.arms?.[0]?.digest === nextDigest,
      );
      await client.patch(at, { spec: { thresholds: { vetoBelowProbability: '0.2' } } });
      await world.until('they are in force', () => models(world)[0]?.status?.arms?.[0]?.thresholdsInForce.vetoBelowProbability === '0.2');
      await client.patch(at, { spec: { resources: { replicas: 2 } } });
      await world.until('two answer', () => models(world)[0]?.status?.ready === 2);
      await remove(world, resources.energyModels, 'judge');
      await world.until('nothing is left', () => kinds.every((kind) => names(world, kind).length === 0));
    },
    ends: (world) => expect(names(world, resources.pods)).toEqual([]),
  },
];
