import { findCondition } from '@agentfleet/kube';
import type { AgentTask, AgentTaskStatus } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { decide } from './decide.ts';
import type { Snapshot } from './facts/snapshot.ts';
import { Bed } from './testing/bed.ts';
import { begin, atWork, condition, finish, reported } from './testing/look.ts';
import { newPool, newTask } from './testing/objects.ts';
import { checkpointURI, obedient, playWorkers, storing, succeeds, works, succeedsLater } from './testing/scriptedWorker.ts';
import { ago, assignment, clock, gone, now, podOf, snapshotOf, taskOf, worker, working } from './testing/snapshots.ts';

const paused = { ...clock, pausedAt: ago(10) };
const quiesced = { ...assignment, directive: 'Quiesce' } as const;
const quiescing: AgentTaskStatus = { ...working, phase: 'Suspended', assignment: quiesced, clock: paused };
const atRest: AgentTaskStatus = {
  ...quiescing,
  run: { ...working.run!, snapshots: { initial: 's0001', checkpointURI }, quiescedAt: ago(5) },
};
const suspended = { suspend: true };
const deleting = podOf('one-1', { metadata: { deletionTimestamp: ago(1) } });

/** A decision in short: phase, reason of Suspended, assignment and what is done. */
function short(snapshot: Snapshot): readonly unknown[] {
  const { status, actions } = decide(snapshot, now);
  const at = status.assignment!;
  const did = actions.map((action) => action.type);
  return [
    status.phase,
    findCondition(status.conditions, 'Suspended')?.reason,
    `${at.attempt}/${at.epoch} ${at.sandbox} ${at.directive}`,
    did.join(' '),
  ];
}

const old = { ...atRest, assignment: { ...quiesced, epoch: 2 } };

test.each<readonly [string, Snapshot, readonly unknown[]]>([
  ['without the report the sandbox stays', snapshotOf(taskOf(quiescing, suspended)), ['Suspended', 'Quiescing', '1/1 one-1 Quiesce', '']],
  [
    'with the report it is deleted',
    snapshotOf(taskOf(atRest, suspended)),
    ['Suspended', 'SandboxEnding', '1/1 one-1 Quiesce', 'deleteSandbox'],
  ],
  ['a report of an earlier epoch is none', snapshotOf(taskOf(old, suspended)), ['Suspended', 'Quiescing', '1/2 one-1 Quiesce', '']],
  [
    'a report under another directive is none',
    snapshotOf(taskOf({ ...atRest, assignment }, suspended)),
    ['Suspended', 'Quiescing', '1/1 one-1 Quiesce', ''],
  ],
  [
    'what is being deleted is not deleted again',
    snapshotOf(taskOf(atRest, suspended), { pods: [deleting] }),
    ['Suspended', 'SandboxEnding', '1/1 one-1 Quiesce', ''],
  ],
  [
    'without a pod it rests, and the attempt stays open',
    snapshotOf(taskOf(atRest, suspended), { pods: [] }),
    ['Suspended', 'Suspended', '1/1 one-1 Quiesce', ''],
  ],
  [
    'the worker may go when all is stored',
    snapshotOf(taskOf(atRest, suspended), { pods: [], assigned: gone }),
    ['Suspended', 'Suspended', '1/1 one-1 Quiesce', ''],
  ],
  [
    'a worker that is lost before the report leaves the sandbox',
    snapshotOf(taskOf(quiescing, suspended), { assigned: gone }),
    ['Suspended', 'SandboxKept', '1/1 one-1 Quiesce', ''],
  ],
  [
    'it goes on in a new sandbox, in the same attempt',
    snapshotOf(taskOf(atRest), { pods: [] }),
    ['Preparing', undefined, '1/2 one-2 Run', 'createSandbox'],
  ],
  [
    'with another worker too',
    snapshotOf(taskOf(atRest), { pods: [], assigned: gone, workers: [worker('w-2')] }),
    ['Preparing', undefined, '1/2 one-2 Run', 'createSandbox'],
  ],
  [
    'in one that waits ready',
    snapshotOf(taskOf(atRest), { pods: [], warm: [podOf('warm-1')] }),
    ['Running', undefined, '1/2 warm-1 Run', 'claimSandbox'],
  ],
  ['not before the old one is gone', snapshotOf(taskOf(atRest), { pods: [deleting] }), ['Queued', undefined, '1/1 one-1 Quiesce', '']],
  ['in the old one when it was not deleted yet', snapshotOf(taskOf(atRest)), ['Running', undefined, '1/2 one-1 Run', '']],
  [
    'no deadline ends it',
    snapshotOf(taskOf(atRest, { ...suspended, deadlineSeconds: 60 }), { pods: [] }),
    ['Suspended', 'Suspended', '1/1 one-1 Quiesce', ''],
  ],
])('suspended: %s', (_, snapshot, expected) => {
  expect(short(snapshot)).toEqual(expected);
});

/** What a task at rest without a sandbox comes to. */
function endOf(spec: object, change: Partial<Snapshot> = {}): readonly string[] {
  const { status } = decide(snapshotOf(taskOf(atRest, { ...suspended, ...spec }), { pods: [], ...change }), now);
  const undone = findCondition(status.conditions, 'RolledBack');
  return [status.phase ?? '', undone?.reason ?? '', undone?.message ?? ''];
}

describe('a suspended task without a sandbox', () => {
  test('is discarded by a cancellation with rollback, which the sandbox took with it', () => {
    const message = 'the sandbox was deleted when the task was suspended; all that was changed in it went with it';
    expect(endOf({ cancel: 'Rollback' })).toEqual(['Cancelled', 'Discarded', message]);
    expect(endOf({}, { cancelOrder: 'halt' })).toEqual(['Cancelled', 'Discarded', message]);
    expect(endOf({ cancel: 'Terminate' }).slice(0, 2)).toEqual(['Cancelled', 'Discarded']);
  });

  test('that is stopped reports where its work lies', () => {
    expect(endOf({ cancel: 'Stop' })).toEqual([
      'Cancelled',
      'Kept',
      `spec.cancel is Stop: the sandbox was deleted when the task was suspended, the checkpoint is ${checkpointURI}`,
    ]);
  });
});

/** A task at work, then suspended until it holds no pod. */
async function rest(bed: Bed, name = 'one'): Promise<AgentTask> {
  await atWork(bed, name);
  await bed.patch(name, suspended);
  await bed.until(`${name} rests`, () => reported(bed.task(name), 'Suspended') === 'True/Suspended');
  return bed.task(name);
}

describe('suspension', () => {
  test('deletes the sandbox, and goes on in another one with the same attempt', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, storing(succeedsLater));
    await bed.create(newTask('one'));
    const task = await rest(bed);
    expect(bed.sandboxes()).toEqual([]);
    expect(reported(task, 'SandboxReady')).toBe('False/Suspended');
    expect(condition(task, 'Suspended')?.message).toContain(checkpointURI);
    const before = bed.writes.length;
    await bed.pass(100);
    expect(bed.writes.length).toBe(before);
    await bed.patch('one', { suspend: false });
    const { status } = await finish(bed);
    expect(status).toMatchObject({ phase: 'Succeeded', assignment: { attempt: 1, epoch: 2, sandbox: 'one-2' } });
    expect(status?.attempts).toHaveLength(1);
    expect(status?.run?.quiescedAt).toBeUndefined();
  });

  test('gives its slot to the next task', async () => {
    await using bed = await Bed.start(newPool({ limits: { maxRunning: 1 } }));
    playWorkers(
      bed,
      storing((at, task) => (task.metadata.name === 'one' && at.epoch === 1 ? works : succeeds(at, task))),
    );
    await begin(bed);
    await bed.create(newTask('two'));
    await bed.until('two waits', () => bed.task('two').status?.phase === 'Queued');
    await rest(bed);
    expect((await finish(bed, 'two')).status?.phase).toBe('Succeeded');
    await bed.patch('one', { suspend: false });
    expect((await finish(bed)).status?.phase).toBe('Succeeded');
  });

  test('that is taken back while the sandbox ends waits for its end', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, storing(succeedsLater));
    await begin(bed);
    bed.kubelet.frozen = true;
    await bed.patch('one', suspended);
    await bed.until('the sandbox ends', () => bed.sandboxes()[0]?.metadata.deletionTimestamp !== undefined);
    await bed.patch('one', { suspend: false });
    await bed.until('it waits', () => reported(bed.task('one'), 'Scheduled') === 'False/SandboxEnding');
    bed.kubelet.frozen = false;
    expect((await finish(bed)).status).toMatchObject({ phase: 'Succeeded', assignment: { attempt: 1, epoch: 2, sandbox: 'one-2' } });
  });

  test('of a task whose worker is lost before the report keeps the sandbox, and another worker goes on in it', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, obedient(succeedsLater));
    await begin(bed);
    await bed.patch('one', suspended);
    bed.beating.delete('w-1');
    await bed.until('it is reported', () => reported(bed.task('one'), 'Suspended') === 'True/SandboxKept');
    expect(bed.sandboxes()).toHaveLength(1);
    await bed.addWorker('w-2');
    await bed.patch('one', { suspend: false });
    const { status } = await finish(bed);
    expect(status).toMatchObject({ phase: 'Succeeded', assignment: { worker: 'w-2', sandbox: 'one-1' } });
  });
});
