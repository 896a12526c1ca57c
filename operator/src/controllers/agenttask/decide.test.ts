import { findCondition } from '@agentfleet/kube';
import { conditionFaults } from '@agentfleet/kube/testing';
import type { AgentTask } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import type { Pod } from '../../runtime/resources.ts';
import { decide } from './decide.ts';
import type { Decision, Snapshot } from './facts/snapshot.ts';
import { newPool } from './testing/objects.ts';
import { usage } from './testing/scriptedWorker.ts';
import { accepted, ago, assignment, closed, gone, now, outcome, podOf, snapshotOf, taskOf, worker, working } from './testing/snapshots.ts';

/** What a decision comes to, in short. */
function effect({ actions, status, requeueAfterMs }: Decision): Record<string, unknown> {
  const at = status.assignment;
  const did = actions.map((action) =>
    action.type === 'createSandbox'
      ? `create ${action.name}`
      : 'pod' in action
        ? `${action.type} ${action.pod.metadata.name}`
        : action.type,
  );
  return {
    phase: status.phase,
    scheduled: findCondition(status.conditions, 'Scheduled')?.reason,
    says: findCondition(status.conditions, 'Scheduled')?.message,
    ...(at === undefined ? {} : { at: `${at.attempt}/${at.epoch} ${at.worker} ${at.sandbox} ${at.directive}` }),
    ...(did.length === 0 ? {} : { did }),
    ...(requeueAfterMs === undefined ? {} : { in: requeueAfterMs / 1000 }),
  };
}

/** Its attempt failed long ago, and it waits for the next one. */
const waitedLong = {
  ...closed('CheckFailed', 1, ago(3600)),
  assignment: { ...assignment, since: ago(4000), directive: 'Quiesce' },
} as const;
const judged = { type: 'Succeeded', status: 'False', reason: 'Cancelled', message: 'cancelled', lastTransitionTime: ago(30) } as const;

const table: readonly (readonly [string, Snapshot, Record<string, unknown>])[] = [
  [
    'a new task with room is given a worker and a sandbox',
    snapshotOf(taskOf(undefined)),
    { phase: 'Preparing', scheduled: 'Assigned', at: '1/1 w-1 one-1 Run', did: ['create one-1'], in: 25 },
  ],
  [
    'the least loaded worker is taken',
    snapshotOf(taskOf(undefined), { workers: [worker('a', { load: 1 }), worker('b')] }),
    { at: '1/1 b one-1 Run' },
  ],
  [
    'a worker without a free slot is not taken',
    snapshotOf(taskOf(undefined), { workers: [worker('a', { load: 2 })] }),
    { phase: 'Queued', scheduled: 'WaitingForSlot', in: 15 },
  ],
  [
    'a slot that somebody earlier takes is not taken',
    snapshotOf(taskOf(undefined), { queue: { running: 0, runningInNamespace: 0, waiting: 2, ahead: 2, takers: 2, stranded: 0 } }),
    { scheduled: 'WaitingForSlot', in: 17 },
  ],
  [
    'a slot that a task of a lost worker will need is not taken by one that has not begun',
    snapshotOf(taskOf(undefined), {
      queue: { ...snapshotOf(taskOf(undefined)).queue, running: 2, stranded: 2 },
      resolution: { pool: newPool({ workers: { replicas: 2, concurrency: 2 } }) },
    }),
    {
      scheduled: 'WaitingForSlot',
      says: 'the free slots (1 ready workers with 2 slots each) are kept for 2 tasks whose workers are lost',
    },
  ],
  [
    'it is taken by one that was interrupted itself',
    snapshotOf(taskOf(working), {
      assigned: gone,
      workers: [worker('w-2')],
      queue: { ...snapshotOf(taskOf(undefined)).queue, running: 2, stranded: 2 },
    }),
    { at: '2/2 w-2 one-1 Run' },
  ],
  [
    'more tasks do not begin than workers that the pool asks for have slots for',
    snapshotOf(taskOf(undefined), { workers: [worker('of-before', { load: 2 }), worker('next')] }),
    {
      scheduled: 'WaitingForSlot',
      says: 'the free slots (2 ready workers with 2 slots each) are kept for tasks of workers that are replaced: spec.workers of ExpertPool platform/coding has slots for 2 tasks, and 2 have one',
    },
  ],
  [
    'those that work for another pool count for nothing, as where the default pool is another one since',
    snapshotOf(taskOf(undefined), { queue: { ...snapshotOf(taskOf(undefined)).queue, running: 9 } }),
    { at: '1/1 w-1 one-1 Run' },
  ],
  [
    'a limit of the pool is told from a ResourceQuota',
    snapshotOf(taskOf(undefined), {
      queue: { ...snapshotOf(taskOf(undefined)).queue, running: 1, runningInNamespace: 1 },
      resolution: { pool: newPool({ limits: { perNamespace: 1 } }) },
    }),
    {
      scheduled: 'QuotaExceeded',
      says: '1 tasks of namespace team run in ExpertPool platform/coding and its spec.limits.perNamespace is 1; wait until one ends, or raise it there (it is no ResourceQuota)',
    },
  ],
  [
    'a pool without workers is named as the reason',
    snapshotOf(taskOf(undefined), { workers: [], resolution: { pool: newPool({ workers: { replicas: 0 } }) } }),
    { scheduled: 'NoWorkerReady', says: 'ExpertPool platform/coding has no workers: spec.workers.replicas of the pool is 0; raise it' },
  ],
  [
    'a sandbox that a dead operator made is taken over',
    snapshotOf(taskOf(undefined), { pods: [podOf('one-1')] }),
    { at: '1/1 w-1 one-1 Run', did: undefined },
  ],
  [
    'a pod of an earlier task of the name has to go first',
    snapshotOf(taskOf(undefined), { pods: [podOf('one-1', { metadata: { ownerReferences: [], deletionTimestamp: ago(0) } })] }),
    { scheduled: 'SandboxEnding' },
  ],
  ['what runs is left alone', snapshotOf(taskOf(working)), { phase: 'Running', at: '1/1 w-1 one-1 Run', in: 3500 }],
  [
    'a success ends the task, and its sandbox',
    snapshotOf(taskOf(outcome('Succeeded'))),
    { phase: 'Succeeded', at: '1/1 w-1 one-1 Run', did: ['deleteSandbox one-1'] },
  ],
  [
    'a failure that may be mended waits',
    snapshotOf(taskOf(outcome('Failed', 'CheckFailed'))),
    { phase: 'Queued', scheduled: 'Backoff', at: '1/1 w-1 one-1 Quiesce', in: 10 },
  ],
  [
    'a failure that cannot be mended is rolled back',
    snapshotOf(taskOf(outcome('Failed', 'Stuck'))),
    { phase: 'RollingBack', at: '1/1 w-1 one-1 Rollback', in: 900 },
  ],
  [
    'a rollback that found no snapshot discards the sandbox',
    snapshotOf(
      taskOf({
        ...closed('Stuck'),
        assignment: { ...assignment, directive: 'Rollback' },
        run: { attempt: 1, epoch: 1, outcome: { result: 'Failed', class: 'Infrastructure', reason: 'RollbackFailed' } },
      }),
    ),
    { phase: 'Failed', did: ['deleteSandbox one-1'] },
  ],
  [
    'an outcome of another epoch is none',
    snapshotOf(taskOf({ ...outcome('Succeeded'), assignment: { ...assignment, epoch: 2 } })),
    { phase: 'Running', at: '1/2 w-1 one-1 Run', in: 3500 },
  ],
  [
    'after the wait the next attempt begins',
    snapshotOf(taskOf(closed('CheckFailed', 1, ago(10)))),
    { at: '2/2 w-1 one-1 Run', did: undefined },
  ],
  [
    'the second wait is longer',
    snapshotOf(taskOf(closed('CheckFailed', 2, ago(10)))),
    { scheduled: 'Backoff', at: '2/1 w-1 one-1 Quiesce', in: 10 },
  ],
  [
    'the last attempt of those that count is the last one',
    snapshotOf(taskOf(closed('CheckFailed', 3, ago(60)))),
    { phase: 'RollingBack', at: '3/1 w-1 one-1 Rollback' },
  ],
  ['what the infrastructure did is not charged', snapshotOf(taskOf(closed('Infrastructure', 9, ago(600)))), { at: '10/2 w-1 one-1 Run' }],
  [
    'a lost worker closes the attempt, and another one goes on at once',
    snapshotOf(taskOf(working), { assigned: gone, workers: [gone, worker('w-2')] }),
    { at: '2/2 w-2 one-1 Run', did: undefined },
  ],
  [
    'a lost sandbox is replaced when it is gone',
    snapshotOf(taskOf(working), { pods: [] }),
    { at: '2/2 w-1 one-2 Run', did: ['create one-2'] },
  ],
  [
    'a sandbox that ended by itself is deleted first',
    snapshotOf(taskOf(working), { pods: [podOf('one-1', { status: { phase: 'Failed', reason: 'Evicted' } })] }),
    { scheduled: 'SandboxEnding', at: '1/1 w-1 one-1 Quiesce', did: ['deleteSandbox one-1'] },
  ],
  [
    'a stray sandbox is deleted',
    snapshotOf(taskOf(working), { pods: [podOf('one-1'), podOf('one-0')] }),
    { at: '1/1 w-1 one-1 Run', did: ['deleteSandbox one-0'] },
  ],
  [
    'a worker past its last edit verifies',
    snapshotOf(
      taskOf({ ...working, run: { ...working.run!, plan: [{ id: 'verify', kind: 'Subtask', intent: 'verify', state: 'Running' }] } }),
    ),
    { phase: 'Verifying', at: '1/1 w-1 one-1 Run' },
  ],
  ['a pause quiesces', snapshotOf(taskOf(working, { suspend: true })), { phase: 'Suspended', at: '1/1 w-1 one-1 Quiesce' }],
  ['an outcome counts also while it is paused', snapshotOf(taskOf(outcome('Succeeded'), { suspend: true })), { phase: 'Succeeded' }],
  [
    'a deadline that is over ends the attempt',
    snapshotOf(taskOf(working, { deadlineSeconds: 100 })),
    { phase: 'RollingBack', at: '1/1 w-1 one-1 Rollback' },
  ],
  ['a deadline also ends what waits', snapshotOf(taskOf(closed('CheckFailed'), { deadlineSeconds: 100 })), { phase: 'RollingBack' }],
  [
    'a task without a time to live goes with its end',
    snapshotOf(taskOf(outcome('Succeeded'), { ttlSecondsAfterFinished: 0 })),
    { phase: 'Succeeded', did: ['deleteSandbox one-1', 'deleteTask'] },
  ],
  [
    'one that a rollout counts stays until that has read it',
    snapshotOf(taskOf({ ...outcome('Succeeded'), assignment: { ...assignment, rollout: 'bbbbbbbbbb-1' } }, { ttlSecondsAfterFinished: 0 })),
    { phase: 'Succeeded', did: ['deleteSandbox one-1'], in: 60 },
  ],
  ['Stop does not outrun a success', snapshotOf(taskOf(outcome('Succeeded'), { cancel: 'Stop' })), { phase: 'Succeeded' }],
  ['Rollback outruns a success', snapshotOf(taskOf(outcome('Succeeded'), { cancel: 'Rollback' })), { phase: 'RollingBack' }],
  ['Stop with nobody to obey ends the task', snapshotOf(taskOf(working, { cancel: 'Stop' }), { assigned: gone }), { phase: 'Cancelled' }],
  [
    'Terminate ends a rollback',
    snapshotOf(taskOf({ ...closed('Stuck'), assignment: { ...assignment, directive: 'Rollback' } }, { cancel: 'Terminate' })),
    { phase: 'Cancelled', did: ['deleteSandbox one-1'] },
  ],
  [
    'a rollback moves on to a worker that lives',
    snapshotOf(taskOf({ ...closed('Stuck'), assignment: { ...assignment, directive: 'Rollback' } }), {
      assigned: gone,
      workers: [worker('w-2', { load: 99 })],
    }),
    { phase: 'RollingBack', at: '1/2 w-2 one-1 Rollback' },
  ],
  [
    'a rollback has its time from the verdict on, however long the task had waited',
    snapshotOf(taskOf(waitedLong, { cancel: 'Rollback', deadlineSeconds: 9000 })),
    { phase: 'RollingBack', at: '1/1 w-1 one-1 Rollback', in: 900 },
  ],
  [
    'a rollback without a worker waits for one from the verdict on',
    snapshotOf(taskOf({ ...waitedLong, conditions: [judged] }, { deadlineSeconds: 9000 }), { assigned: gone, workers: [gone] }),
    { phase: 'RollingBack', at: '1/1 w-1 one-1 Rollback', in: 90 },
  ],
  [
    'a sandbox has its time to start from the assignment on, also by a clock that is ahead of that of the API server',
    snapshotOf(taskOf({ assignment: { ...assignment, since: ago(10) }, finished: 'false', conditions: [accepted] }), {
      pods: [podOf('one-1', { metadata: { creationTimestamp: ago(310) }, status: { containerStatuses: [] } })],
    }),
    { phase: 'Preparing', at: '1/1 w-1 one-1 Run', in: 15 },
  ],
  [
    'an attempt that ended by a clock that was ahead is followed by the next one at once',
    snapshotOf(taskOf(closed('CheckFailed', 1, ago(-86_400)))),
    { at: '2/2 w-1 one-1 Run' },
  ],
  ['a rollback of a sandbox that is gone is done', snapshotOf(taskOf(closed('Stuck')), { pods: [] }), { phase: 'Failed' }],
];

describe('decide', () => {
  test.each(table)('%s', (_, snapshot, expected) => {
    const decision = decide(snapshot, now);
    expect(effect(decision)).toMatchObject(Object.fromEntries(Object.entries(expected).filter(([, value]) => value !== undefined)));
    if ('did' in expected && expected['did'] === undefined) expect(decision.actions).toEqual([]);
    expect(conditionFaults({ ...snapshot.task, status: decision.status })).toEqual([]);
    expect(decide(structuredClone(snapshot), now)).toEqual(decision);
  });

  test.each(table)('comes to rest: %s', (_, snapshot) => {
    const { status } = decide(snapshot, now);
    const made =
      status.assignment === undefined || snapshot.pods.some(({ metadata }) => metadata.name === status.assignment?.sandbox)
        ? snapshot.pods
        : [podOf(status.assignment.sandbox, { status: { phase: undefined, containerStatuses: [] } })];
    const run = snapshot.task.status?.run;
    const after: AgentTask = { ...snapshot.task, status: { ...status, ...(run === undefined ? {} : { run }) } };
    const assigned =
      status.assignment === undefined
        ? undefined
        : ([...snapshot.workers, worker('w-1')].find(({ name }) => name === status.assignment?.worker) ?? snapshot.assigned);
    const pods = made.filter((pod) => pod.status?.phase !== 'Failed');
    if (pods.length !== made.length || status.finished === 'true') return;
    const again = decide({ ...snapshot, task: after, pods, assigned }, now);
    expect(again.written, JSON.stringify([status, again.status])).toBe(false);
  });

  test('a restore that was reported before the rollback was asked for is not its result', () => {
    const report = { ...outcome('Failed', 'Stuck').run!, rollback: { snapshot: 's0001', verified: true } };
    expect(decide(snapshotOf(taskOf({ ...working, run: report })), now).status.phase).toBe('RollingBack');
  });

  test('a sandbox that went between two attempts did not go by a suspension', () => {
    const rested = { ...closed('CheckFailed'), run: { ...working.run!, quiescedAt: ago(1) } };
    const message = (spec: object): string =>
      findCondition(decide(snapshotOf(taskOf(rested, { cancel: 'Rollback', ...spec }), { pods: [] }), now).status.conditions, 'RolledBack')
        ?.message ?? '';
    expect(message({})).toMatch(/^the sandbox pod one-1 is gone;/);
    expect(message({ suspend: true })).toMatch(/^the sandbox was deleted when the task was suspended;/);
  });

  test('the books are closed once', () => {
    const first = decide(snapshotOf(taskOf(outcome('Failed', 'CheckFailed'))), now).status;
    expect(first.totals).toEqual({ usage });
    const second = decide(snapshotOf(taskOf({ ...first, run: outcome('Failed', 'CheckFailed').run! })), now).status;
    expect(second.totals).toEqual({ usage });
    expect(second.attempts).toHaveLength(1);
  });

  test('the charged attempts stay known although only sixteen are shown', () => {
    const status = closed('Infrastructure', 16, ago(600));
    const attempts = status.attempts!.map((attempt, at) => (at === 0 ? { ...attempt, class: 'CheckFailed' as const } : attempt));
    const open = {
      ...status,
      attempts,
      assignment: { ...assignment, attempt: 17 },
      run: { attempt: 17, epoch: 1, outcome: { result: 'Failed', class: 'CheckFailed', reason: 'Because' } },
    } as const;
    const decision = decide(snapshotOf(taskOf(open, { attempts: { max: 2 } })), now);
    expect([decision.status.attempts?.length, decision.status.phase]).toEqual([16, 'RollingBack']);
  });

  test('a pod is let go when its containers have ended, and not before', () => {
    const deleting = { metadata: { deletionTimestamp: ago(0) } };
    const released = (pod: Pod): boolean =>
      decide(snapshotOf(taskOf(working), { pods: [pod] }), now).actions.some(({ type }) => type === 'releaseSandbox');
    expect(released(podOf('one-1', deleting))).toBe(false);
    expect(released(podOf('one-1', { metadata: { deletionTimestamp: ago(59) } }))).toBe(false);
    expect(released(podOf('one-1', { metadata: { deletionTimestamp: ago(60) } }))).toBe(true);
    const ended = ['keeper', 'tools'].map((name) => ({ name, ready: false, restartCount: 0, state: { terminated: {} } }));
    expect(released(podOf('one-1', { ...deleting, status: { containerStatuses: ended } }))).toBe(true);
    expect(released({ ...podOf('one-1', deleting), spec: {} })).toBe(true);
  });

  test('the conditions of a task read as a story to a stranger', () => {
    const lines = ({ status }: Decision): string => findCondition(status.conditions, 'Ready')?.message ?? '';
    expect(lines(decide(snapshotOf(taskOf(undefined)), now))).toBe('attempt 1 waits for its sandbox: pod one-1 starts');
    expect(lines(decide(snapshotOf(taskOf(undefined), { workers: [] }), now))).toContain(
      'has 0 workers, none of them ready; look at its conditions',
    );
    const over = taskOf(undefined, { budget: { wallSeconds: 90 } });
    const refused = decide(snapshotOf(over, { resolution: { pool: newPool({ policy: { maxBudget: { wallSeconds: 60 } } }) } }), now);
    expect(lines(refused)).toContain('spec.budget.wallSeconds is 90, and ExpertPool platform/coding allows 60 at most');
    expect(findCondition(refused.status.conditions, 'Stalled')?.reason).toBe('BudgetTooHigh');
  });
});
