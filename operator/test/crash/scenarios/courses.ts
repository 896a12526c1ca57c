import { expect } from 'vitest';
import { newTask } from '../../../src/controllers/agenttask/testing/objects.ts';
import { runningStatus, waitingStatus } from '../../../src/controllers/agenttask/testing/kubelet.ts';
import { Provisioner, storage } from '../../../src/controllers/agenttask/testing/provisioner.ts';
import {
  fails,
  obedient,
  playWorkers,
  storing,
  succeeds,
  succeedsLater,
} from '../../../src/controllers/agenttask/testing/scriptedWorker.ts';
import { resources } from '../../../src/runtime/resources.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';
import { begin, expectEnd, expectSuccess, oneWaits, over, phase, suspended, works } from './steps.ts';

/** The image of the first sandboxes of a task cannot be pulled. */
const noImageFor =
  (...names: readonly string[]) =>
  (world: World): Promise<void> => {
    world.kubelet.startsAs = ({ metadata }) =>
      names.includes(metadata.name) ? waitingStatus('ImagePullBackOff', 'no such image') : runningStatus(true);
    return Promise.resolve();
  };

/** Courses of tasks, apart from ends that come from outside. */
export const courses: readonly Scenario[] = [
  {
    name: 'a task succeeds',
    pairs: true,
    act: async (world) => {
      await begin(world, obedient(succeeds));
      await over(world, 'one');
    },
    ends: (world) => expectSuccess(world, 'one'),
  },
  {
    name: 'a task fails, is tried again, succeeds',
    pairs: true,
    act: async (world) => {
      const script = obedient((assignment, task) => (assignment.attempt === 1 ? fails() : succeeds(assignment, task)));
      await begin(world, script, { attempts: { backoff: { seconds: 1 } } });
      await over(world, 'one');
    },
    ends: (world) => expectEnd(world.task('one'), { phase: 'Succeeded' }, ['ChecksFailed', 'ChecksPassed']),
  },
  {
    name: 'a task fails for good and is rolled back',
    pairs: true,
    act: async (world) => {
      const script = obedient(() => fails());
      await begin(world, script, { attempts: { max: 2, backoff: { seconds: 1 } } });
      await over(world, 'one');
    },
    ends: (world) =>
      expectEnd(world.task('one'), { phase: 'Failed', run: { rollback: { verified: true } } }, ['ChecksFailed', 'ChecksFailed']),
  },
  {
    name: 'a task loses its worker and goes on with another one',
    pairs: true,
    act: async (world) => {
      await begin(world, obedient(succeedsLater));
      await works(world);
      await world.addWorker('w-2');
      world.beating.delete('w-1');
      await over(world, 'one');
    },
    ends: (world) =>
      expectEnd(world.task('one'), { phase: 'Succeeded', assignment: { epoch: 2, worker: 'w-2', sandbox: 'one-1' } }, [
        'WorkerLost',
        'ChecksPassed',
      ]),
  },
  {
    name: 'a task loses its sandbox and goes on in another one',
    act: async (world) => {
      await begin(world, obedient(succeedsLater));
      await works(world);
      await world.pods.delete({ namespace: 'team', name: 'one-1' });
      await over(world, 'one');
    },
    ends: (world) =>
      expectEnd(world.task('one'), { phase: 'Succeeded', assignment: { epoch: 2, sandbox: 'one-2' } }, ['SandboxLost', 'ChecksPassed']),
  },
  {
    name: 'a sandbox that does not start goes, and the task goes on in another one',
    pool: { sandbox: { startTimeoutSeconds: 10 } },
    prepare: noImageFor('one-1'),
    act: async (world) => {
      await begin(world, obedient(succeeds), { attempts: { backoff: { seconds: 1 } } });
      await over(world, 'one');
    },
    ends: (world) => {
      expectEnd(world.task('one'), { phase: 'Succeeded', assignment: { epoch: 2, sandbox: 'one-2' } }, [
        'ImagePullBackOff',
        'ChecksPassed',
      ]);
      expect(world.task('one').status?.attempts?.map(({ started }) => started)).toEqual([false, undefined]);
    },
  },
  {
    name: 'a sandbox does not start, and the task may not be tried again',
    pool: { sandbox: { startTimeoutSeconds: 10 } },
    prepare: noImageFor('one-1'),
    pairs: true,
    act: async (world) => {
      await begin(world, obedient(succeeds), { attempts: { rules: [{ class: 'Infrastructure', action: 'Fail' }] } });
      await over(world, 'one');
    },
    ends: (world) => {
      expectEnd(world.task('one'), { phase: 'Failed', assignment: { epoch: 1 } }, ['ImagePullBackOff']);
      expect(world.task('one').status?.clock).toBeUndefined();
    },
  },
  {
    name: 'a suspended task gives its sandbox back and goes on in another one',
    act: async (world) => {
      await begin(world, storing(succeedsLater));
      await works(world);
      await suspended(world);
      await world.patch('one', { suspend: false });
      await over(world, 'one');
    },
    ends: (world) => expectEnd(world.task('one'), { phase: 'Succeeded', assignment: { attempt: 1, epoch: 2 } }, ['ChecksPassed']),
  },
  {
    name: 'a suspended task goes on from the snapshot of its volume',
    prepare: (world) => Provisioner.join(world),
    act: async (world) => {
      await begin(world, storing(succeedsLater), { sandbox: { storage } });
      await works(world);
      await world.patch('one', { suspend: true });
      const snapshotted = (): boolean => world.task('one').status?.conditions?.some(({ reason }) => reason === 'Snapshotted') === true;
      // Resumed before the volume is gone, the task would go on with that.
      const parted = (): boolean => snapshotted() && world.server.objects(resources.persistentVolumeClaims).length === 0;
      await world.until('it holds a snapshot, and no volume', parted);
      await world.patch('one', { suspend: false });
      await over(world, 'one');
      await world.until('only the last snapshot is left', () => {
        const left = [...world.server.objects(resources.persistentVolumeClaims), ...world.server.objects(resources.volumeSnapshots)];
        return left.length === 1 && left[0]?.metadata.name === 'one-2';
      });
    },
    ends: (world) => expectEnd(world.task('one'), { phase: 'Succeeded', assignment: { attempt: 1, epoch: 2 } }, ['ChecksPassed']),
  },
  {
    name: 'a task takes a sandbox that waits, and another one is made',
    pool: { sandbox: { warm: [{ namespace: 'team', replicas: 1 }] } },
    prepare: oneWaits,
    pairs: true,
    act: async (world) => {
      await begin(world, obedient(succeeds));
      await over(world, 'one');
      await world.until('another one waits', () => world.waiting().length === 1);
    },
    ends: (world) => expectEnd(world.task('one'), { phase: 'Succeeded', assignment: { warm: true } }, ['ChecksPassed']),
  },
  {
    name: 'three tasks wait for the one place of a worker',
    pool: { workers: { replicas: 1, concurrency: 1 } },
    act: async (world) => {
      playWorkers(world, obedient(succeeds));
      for (const [name, priority] of [
        ['low', 0],
        ['high', 10],
        ['last', 0],
      ] as const) {
        await world.create(newTask(name, { priority }));
        await world.step();
      }
      await over(world, 'low', 'high', 'last');
    },
    ends: (world) => {
      for (const name of ['low', 'high', 'last']) expectEnd(world.task(name), { phase: 'Succeeded' }, ['ChecksPassed']);
    },
  },
  {
    name: 'a task that is applied again and again runs once',
    act: async (world) => {
      playWorkers(world, obedient(succeeds));
      const { metadata, spec } = newTask('one', {}, { labels: { 'kustomize.toolkit.fluxcd.io/name': 'apps' } });
      world.actors.push(async () => void (await world.tasks.apply({ metadata, spec }, { fieldManager: 'gitops' })));
      await world.until('it is there', () => world.taskNames().length === 1);
      await over(world, 'one');
      await world.pass(8);
    },
    ends: (world) => {
      expectSuccess(world, 'one');
      expect(world.taskNames()).toEqual(['one']);
    },
  },
  {
    name: 'a task waits for a worker, then for its sandbox',
    prepare: async (world) => {
      world.beating.delete('w-1');
      await world.pods.delete({ namespace: 'platform', name: 'w-1' }, { gracePeriodSeconds: 0 });
    },
    act: async (world) => {
      await begin(world, obedient(succeeds));
      await phase(world, 'Queued');
      world.kubelet.frozen = true;
      await world.addWorker('w-2');
      await world.until('it has a sandbox', () => world.sandboxes().length === 1);
      await world.pass(2);
      world.kubelet.frozen = false;
      await over(world, 'one');
    },
    ends: (world) => expectEnd(world.task('one'), { phase: 'Succeeded', assignment: { worker: 'w-2' } }, ['ChecksPassed']),
  },
];
