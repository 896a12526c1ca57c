import { findCondition } from '@agentfleet/kube';
import type { AgentTaskOrder } from '@agentfleet/protocol/api';
import { expect } from 'vitest';
import { newTask } from '../../../src/controllers/agenttask/testing/objects.ts';
import { Provisioner, storage } from '../../../src/controllers/agenttask/testing/provisioner.ts';
import {
  fails,
  obedient,
  playWorkers,
  storing,
  succeeds,
  works as working,
} from '../../../src/controllers/agenttask/testing/scriptedWorker.ts';
import { templateAnnotation } from '../../../src/pools/resolve.ts';
import { resources } from '../../../src/runtime/resources.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';
import { begin, expectEnd, expectSuccess, keepsWorking, oneWaits, over, patchPool, suspended, works } from './steps.ts';

const after = (...names: readonly string[]): { readonly dependsOn: readonly { readonly name: string }[] } => ({
  dependsOn: names.map((name) => ({ name })),
});

const reason = (world: World, name: string, type = 'Accepted'): string | undefined =>
  findCondition(world.task(name).status?.conditions, type)?.reason;

const order = (name: string): Pick<AgentTaskOrder, 'metadata' | 'spec'> => ({
  metadata: { name, namespace: 'team' },
  spec: { taskRef: { name: 'one' }, type: 'Cancel', requester: 'ann' },
});

const remove = (world: World, name: string): Promise<unknown> => world.tasks.delete({ namespace: 'team', name });

const gone = (world: World, name: string): Promise<void> => world.until(`${name} is gone`, () => !world.taskNames().includes(name));

/** Courses of tasks that others have a part in: those they depend on, those they share a pool with, volumes, templates. */
export const companions: readonly Scenario[] = [
  {
    name: 'a task begins when the one it depends on has succeeded',
    pool: { workers: { concurrency: 4 } },
    act: async (world) => {
      await world.create(newTask('last', after('one')));
      await world.until('it waits', () => reason(world, 'last', 'Scheduled') === 'DependencyPending');
      await begin(world, obedient(succeeds));
      await over(world, 'one', 'last');
    },
    ends: (world) => expectSuccess(world, 'one', 'last'),
  },
  {
    name: 'a task does not begin after one that failed, until that is made again and succeeds',
    act: async (world) => {
      let good = false;
      playWorkers(
        world,
        obedient((assignment, task) => (task.metadata.name === 'one' && !good ? fails() : succeeds(assignment, task))),
      );
      await world.create(newTask('one', { attempts: { max: 1 } }));
      await world.create(newTask('last', after('one')));
      await world.until('it is reported', () => reason(world, 'last') === 'DependencyFailed');
      expect(world.task('last').status?.assignment).toBeUndefined();
      good = true;
      await remove(world, 'one');
      await gone(world, 'one');
      await world.create(newTask('one'));
      await over(world, 'one', 'last');
    },
    ends: (world) => expectSuccess(world, 'one', 'last'),
  },
  {
    name: 'tasks in a circle wait, until one of them is made again without it',
    act: async (world) => {
      playWorkers(world, obedient(succeeds));
      await world.create(newTask('a', after('b')));
      await world.create(newTask('b', after('a')));
      await world.until('one is reported', () => ['a', 'b'].some((name) => reason(world, name) === 'DependencyCycle'));
      await remove(world, 'b');
      await gone(world, 'b');
      await world.create(newTask('b'));
      await over(world, 'b', 'a');
    },
    ends: (world) => expectSuccess(world, 'a', 'b'),
  },
  {
    name: 'two tasks of a namespace that may have one slot take turns',
    pool: { workers: { replicas: 1, concurrency: 4 }, limits: { perNamespace: 1, maxQueued: 1 } },
    act: async (world) => {
      let may = false;
      playWorkers(
        world,
        obedient((assignment, task) => (may ? succeeds(assignment, task) : undefined)),
      );
      await world.create(newTask('first'));
      await world.until('the first one has the slot', () => world.task('first').status?.assignment !== undefined);
      await world.create(newTask('second'));
      await world.until('the second one is reported', () => reason(world, 'second', 'Scheduled') === 'QuotaExceeded');
      may = true;
      await over(world, 'first', 'second');
    },
    ends: (world) => expectSuccess(world, 'first', 'second'),
  },
  {
    name: 'a volume without snapshots goes with the end of its task',
    prepare: (world) => Provisioner.join(world),
    act: async (world) => {
      const { volumeSnapshotClassName: _, ...own } = storage;
      await begin(world, obedient(succeeds), { sandbox: { storage: own } });
      await over(world, 'one');
      await world.until('no volume is left', () => world.server.objects(resources.persistentVolumeClaims).length === 0);
    },
    ends: (world) => {
      expectEnd(world.task('one'), { phase: 'Succeeded' }, ['ChecksPassed']);
      expect(findCondition(world.task('one').status?.conditions, 'StorageReady')).toMatchObject({ status: 'False', reason: 'Deleted' });
    },
  },
  {
    name: 'a task comes while waiting sandboxes are exchanged for those of another template',
    pool: { sandbox: { warm: [{ namespace: 'team', replicas: 1 }] } },
    prepare: oneWaits,
    act: async (world) => {
      const before = world.waiting()[0]?.metadata.annotations?.[templateAnnotation];
      await patchPool(world, { sandbox: { template: { image: 'tools:2' } } });
      await begin(world, keepsWorking);
      await works(world);
      const [own] = world.sandboxes().filter(({ metadata }) => metadata.ownerReferences !== undefined);
      // The waiting sandbox was of another template: no task takes it.
      expect(own?.metadata.annotations?.[templateAnnotation] === before).toBe(false);
      expect(own?.spec?.containers?.some(({ image }) => image === 'tools:2')).toBe(true);
      await world.patch('one', { cancel: 'Terminate' });
      await over(world, 'one');
      const fresh = (): boolean =>
        world.waiting().length === 1 && world.waiting()[0]?.metadata.annotations?.[templateAnnotation] !== before;
      await world.until('one of the new template waits', fresh);
      // Timing decides whether it took one of the new template or got its own.
      expectEnd(world.task('one'), { phase: 'Cancelled' }, ['Cancelled']);
      await remove(world, 'one');
      await gone(world, 'one');
    },
    ends: (world) => expect(world.waiting()).toHaveLength(1),
  },
  {
    name: 'an order undoes a task that is suspended and holds no sandbox',
    act: async (world) => {
      await begin(
        world,
        storing(() => working),
      );
      await works(world);
      await suspended(world);
      await world.order(order('halt'));
      await over(world, 'one');
      await world.until('it is answered', () => world.orders()[0]?.status?.state === 'Done');
    },
    ends: (world) => expectEnd(world.task('one'), { phase: 'Cancelled' }, ['Cancelled']),
  },
];
