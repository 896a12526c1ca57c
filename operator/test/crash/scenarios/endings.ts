import { expect } from 'vitest';
import { findCondition } from '@agentfleet/kube';
import { newTask } from '../../../src/controllers/agenttask/testing/objects.ts';
import { obedient, playWorkers, succeeds, works as working } from '../../../src/controllers/agenttask/testing/scriptedWorker.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';
import { begin, expectEnd, finished, keepsWorking, over, phase, works } from './steps.ts';

const act = `sha256:${'a'.repeat(64)}`;

/** A task that works and is ended by a field of its spec. */
const cancelled = (cancel: string, ends: Scenario['ends']): Scenario => ({
  name: `a task at work is cancelled: ${cancel}`,
  pairs: cancel === 'Stop',
  act: async (world) => {
    // Named, because a tree that Stop keeps stays for longer.
    await begin(world, keepsWorking, { retention: { sandboxSeconds: 1 } });
    await works(world);
    await world.patch('one', { cancel });
    await over(world, 'one');
  },
  ends,
});

const answered = (type: 'Approve' | 'Reject', ends: Scenario['ends']): Scenario => ({
  name: `an act waits for a person, who says ${type}`,
  act: async (world) => {
    const asks = { ...working, pendingApproval: { action: act, summary: 'push', expires: '2030-01-02T00:00:00Z' } };
    const script = obedient((assignment, task) => (task.status?.approvals === undefined ? asks : succeeds(assignment, task)));
    await begin(world, script);
    await phase(world, 'AwaitingApproval');
    await world.order({
      metadata: { name: 'answer', namespace: 'team' },
      spec: { taskRef: { name: 'one' }, type, action: act, requester: 'ann' },
    });
    await over(world, 'one');
    await world.until('the order is done', () => world.orders()[0]?.status?.state === 'Done');
  },
  ends,
});

const expectAnswer = (world: World, decision: string): void => {
  expect(world.task('one').status?.approvals).toMatchObject([{ action: act, decision, requester: 'ann' }]);
  expect(world.orders()[0]?.metadata.ownerReferences).toMatchObject([{ kind: 'AgentTask', name: 'one' }]);
};

/** Deletes the task at work, and waits until nothing is left of it. */
async function deleted(world: World): Promise<void> {
  await begin(world, keepsWorking);
  await works(world);
  await world.tasks.delete({ namespace: 'team', name: 'one' });
  await world.until('all is gone', () => world.taskNames().length === 0 && world.sandboxes().length === 0);
}

/** Tasks that are ended, answered and deleted from outside. */
export const endings: readonly Scenario[] = [
  cancelled('Stop', (world) => expectEnd(world.task('one'), { phase: 'Cancelled' }, ['Cancelled'])),
  cancelled('Rollback', (world) =>
    expectEnd(world.task('one'), { phase: 'Cancelled', run: { rollback: { verified: true } } }, ['Cancelled']),
  ),
  cancelled('Terminate', (world) => expectEnd(world.task('one'), { phase: 'Cancelled' }, ['Cancelled'])),
  {
    name: 'an order cancels a task, a late one is refused, one without a task too',
    act: async (world) => {
      await begin(world, keepsWorking);
      await works(world);
      const order = (name: string, of: string): Parameters<World['order']>[0] => ({
        metadata: { name, namespace: 'team' },
        spec: { taskRef: { name: of }, type: 'Cancel', requester: 'ann' },
      });
      await world.order(order('halt', 'one'));
      await world.order(order('nobody', 'none'));
      await over(world, 'one');
      // One of the next five seconds counts as obeyed, because the operator's clock may be that much behind.
      await world.pass(7);
      await world.order(order('late', 'one'));
      await world.until('all are answered', () =>
        world.orders().every(({ status }) => status?.state === 'Done' || status?.state === 'Refused'),
      );
    },
    ends: (world) => {
      expectEnd(world.task('one'), { phase: 'Cancelled', run: { rollback: { verified: true } } }, ['Cancelled']);
      expect(findCondition(world.task('one').status?.conditions, 'Succeeded')?.message).toContain('halt');
      const states = world.orders().map(({ metadata, status }) => `${metadata.name} ${status?.state ?? ''}`);
      expect(states).toEqual(['halt Done', 'late Refused', 'nobody Refused']);
    },
  },
  answered('Approve', (world) => {
    expectEnd(world.task('one'), { phase: 'Succeeded' }, ['ChecksPassed']);
    expectAnswer(world, 'Approved');
  }),
  answered('Reject', (world) => {
    expectEnd(world.task('one'), { phase: 'Succeeded' }, ['ChecksPassed']);
    expectAnswer(world, 'Rejected');
  }),
  {
    name: 'a task is deleted at work, and another one takes its name',
    act: async (world) => {
      await deleted(world);
      await world.create(newTask('one'));
      await works(world);
    },
    ends: (world) => {
      expect(world.task('one').status).toMatchObject({ phase: 'Running', assignment: { epoch: 1, attempt: 1 } });
      expect(world.sandboxes().map(({ metadata }) => metadata.name)).toEqual(['one-1']);
    },
  },
  {
    name: 'a task is deleted at work, and nothing is left',
    pairs: true,
    act: deleted,
    ends: (world) => expect([world.taskNames(), world.sandboxes()]).toEqual([[], []]),
  },
  {
    name: 'a finished task goes when its time to live is over',
    pairs: true,
    act: async (world) => {
      await begin(world, obedient(succeeds), { ttlSecondsAfterFinished: 5 });
      await world.until('it is deleted', () => world.taskNames().length === 0);
      await world.until('no sandbox is left', () => world.sandboxes().length === 0);
    },
    ends: (world) => expect([world.taskNames(), world.sandboxes()]).toEqual([[], []]),
  },
  {
    name: 'a sandbox is kept after the end, then goes',
    act: async (world) => {
      await begin(world, obedient(succeeds), { retention: { sandboxSeconds: 10 } });
      await finished(world, 'one');
      await world.until('no sandbox is left', () => world.sandboxes().length === 0);
    },
    ends: (world) => expectEnd(world.task('one'), { phase: 'Succeeded' }, ['ChecksPassed']),
  },
  {
    name: 'no worker can undo what was done, so the sandbox goes',
    act: async (world) => {
      await begin(world, keepsWorking);
      await works(world);
      world.beating.delete('w-1');
      await world.pods.delete({ namespace: 'platform', name: 'w-1' }, { gracePeriodSeconds: 0 });
      await world.patch('one', { cancel: 'Rollback' });
      await phase(world, 'RollingBack');
      await world.pass(118, 2);
      await over(world, 'one');
    },
    ends: (world) => {
      const { conditions } = world.task('one').status ?? {};
      expect(conditions?.find(({ type }) => type === 'RolledBack')).toMatchObject({ status: 'True', reason: 'Discarded' });
    },
  },
  {
    name: 'a task succeeds beside one that is cancelled before it begins',
    act: async (world) => {
      playWorkers(world, obedient(succeeds));
      await world.create(newTask('one', { deadlineSeconds: 30 }));
      await world.create(newTask('two', { cancel: 'Rollback' }));
      await over(world, 'one', 'two');
    },
    ends: (world) => {
      expectEnd(world.task('one'), { phase: 'Succeeded' }, ['ChecksPassed']);
      expect(world.task('two').status).toMatchObject({ phase: 'Cancelled' });
    },
  },
];
