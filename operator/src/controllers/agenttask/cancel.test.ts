import { describe, expect, test } from 'vitest';
import { Bed } from './testing/bed.ts';
import { begin, finish, reported } from './testing/look.ts';
import { newTask } from './testing/objects.ts';
import { obedient, playWorkers, succeeds, usage, works } from './testing/scriptedWorker.ts';

describe('cancelling', () => {
  const working = async (bed: Bed, spec: object = {}): Promise<void> => {
    playWorkers(
      bed,
      obedient(() => works),
    );
    await begin(bed, { ...spec });
  };

  test('Stop lets the worker end its step and keeps the tree', async () => {
    await using bed = await Bed.start();
    await working(bed, { retention: { sandboxSeconds: 600 } });
    await bed.patch('one', { cancel: 'Stop' });
    const task = await finish(bed);
    expect(task.status).toMatchObject({
      phase: 'Cancelled',
      assignment: { directive: 'Stop' },
      attempts: [{ reason: 'Cancelled', usage: { toolCalls: usage.toolCalls } }],
    });
    expect([reported(task, 'Succeeded'), reported(task, 'RolledBack'), bed.sandboxes().length]).toEqual([
      'False/Cancelled',
      'False/Kept',
      1,
    ]);
  });

  test('a tree that Stop keeps can be looked at for a while, without a word about it in the spec', async () => {
    await using bed = await Bed.start();
    await working(bed, {});
    await bed.patch('one', { cancel: 'Stop' });
    expect(reported(await finish(bed), 'RolledBack')).toBe('False/Kept');
    await bed.pass(890);
    expect(bed.sandboxes()).toHaveLength(1);
    await bed.pass(20);
    expect(bed.sandboxes()).toHaveLength(0);
  });

  test('Rollback restores snapshot 0', async () => {
    await using bed = await Bed.start();
    await working(bed);
    await bed.patch('one', { cancel: 'Rollback' });
    const task = await finish(bed);
    expect([task.status?.phase, reported(task, 'Ready'), reported(task, 'RolledBack')]).toEqual([
      'Cancelled',
      'False/Cancelled',
      'True/Restored',
    ]);
  });

  test('Terminate leaves no report that has it at work, or waiting for a person', async () => {
    await using bed = await Bed.start();
    const node = (id: string, state: 'Done' | 'Running' | 'Pending' | 'Dropped') => ({ id, kind: 'Step' as const, intent: 'i', state });
    const plan = [node('a', 'Done'), node('b', 'Running'), node('c', 'Pending')];
    const pendingApproval = { action: `sha256:${'ab'.repeat(32)}`, summary: 'push', expires: '2031-01-01T00:00:00Z' };
    playWorkers(
      bed,
      obedient(() => ({ ...works, progress: { done: 1, total: 3, message: 'runs the tests' }, plan, pendingApproval })),
    );
    await begin(bed, {});
    await bed.until('it waits for a person', () => bed.task('one').status?.phase === 'AwaitingApproval');
    await bed.patch('one', { cancel: 'Terminate' });
    await finish(bed);
    await bed.until('the report is closed', () => bed.task('one').status?.run?.pendingApproval === undefined, 200);
    expect(bed.task('one').status?.run).toMatchObject({
      progress: { done: 1, total: 3, message: 'the task has ended' },
      plan: [node('a', 'Done'), node('b', 'Dropped'), node('c', 'Dropped')],
      usage,
    });
    const before = bed.server.requests.length;
    bed.sweep();
    await bed.pass(5);
    const writes = bed.server.requests.slice(before).filter(({ verb, resource }) => verb === 'patch' && resource.startsWith('agenttasks'));
    expect(writes).toEqual([]);
  });

  test('Terminate deletes the sandbox at once', async () => {
    await using bed = await Bed.start();
    await working(bed, { retention: { sandboxSeconds: 600 } });
    await bed.patch('one', { cancel: 'Terminate' });
    const task = await finish(bed);
    await bed.until('the sandbox is gone', () => bed.sandboxes().length === 0);
    expect([task.status?.phase, reported(task, 'RolledBack')]).toEqual(['Cancelled', 'True/Discarded']);
  });

  test('before it began there is nothing to undo', async () => {
    await using bed = await Bed.start();
    await bed.create(newTask('one', { cancel: 'Rollback' }));
    const task = await finish(bed);
    expect([task.status?.phase, reported(task, 'RolledBack'), bed.sandboxes().length]).toEqual(['Cancelled', '-/-', 0]);
  });

  test('an order does what spec.cancel Rollback does, and reports when it is done', async () => {
    await using bed = await Bed.start();
    await working(bed);
    const ordered = {
      metadata: { name: 'halt', namespace: 'team' },
      spec: { taskRef: { name: 'one' }, type: 'Cancel', requester: 'ann' },
    } as const;
    await bed.order(ordered);
    const task = await finish(bed);
    expect(task.status).toMatchObject({ phase: 'Cancelled', run: { rollback: { verified: true } } });
    expect(task.status?.conditions?.find(({ type }) => type === 'Succeeded')?.message).toContain('AgentTaskOrder halt');
    expect(task.spec.cancel).toBe('None');
    await bed.until('the order is done', () => bed.orders()[0]?.status?.state === 'Done');
    expect(bed.orders()[0]?.metadata.ownerReferences).toMatchObject([{ kind: 'AgentTask', uid: task.metadata.uid }]);
    await bed.pass(6);
    await bed.order({ ...ordered, metadata: { name: 'late', namespace: 'team' } });
    await bed.until(
      'the late order is refused',
      () => bed.orders().find(({ metadata }) => metadata.name === 'late')?.status?.state === 'Refused',
    );
  });

  test('when no worker can restore, the sandbox is deleted after two minutes', async () => {
    await using bed = await Bed.start();
    await working(bed);
    bed.beating.delete('w-1');
    await bed.pods.delete({ namespace: 'platform', name: 'w-1' });
    await bed.patch('one', { cancel: 'Rollback' });
    await bed.pass(100);
    expect([bed.task('one').status?.phase, bed.sandboxes().length]).toEqual(['RollingBack', 1]);
    const task = await finish(bed);
    expect([task.status?.phase, reported(task, 'RolledBack')]).toEqual(['Cancelled', 'True/Discarded']);
  });
});

describe('after the end', () => {
  test('a task with a time to live is deleted, unless Git owns it', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, obedient(succeeds));
    await bed.create(newTask('one', { ttlSecondsAfterFinished: 30 }));
    const tracked = {
      argo: { labels: { 'app.kubernetes.io/instance': 'apps' } },
      flux: { labels: { 'kustomize.toolkit.fluxcd.io/name': 'apps' } },
      identified: { annotations: { 'argocd.argoproj.io/tracking-id': 'apps:agentfleet.dev/AgentTask:team/identified' } },
    };
    const names = Object.keys(tracked);
    for (const [name, metadata] of Object.entries(tracked)) await bed.create(newTask(name, { ttlSecondsAfterFinished: 30 }, metadata));
    for (const name of names) await finish(bed, name);
    await bed.until('one is deleted', () => !bed.taskNames().includes('one'));
    await bed.pass(60);
    expect(bed.taskNames().toSorted()).toEqual(names);
    expect(bed.events.filter(({ reason }) => reason === 'TTLIgnored')).toHaveLength(names.length);
  });

  test('a time to live that is shortened is kept', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, obedient(succeeds));
    await bed.create(newTask('one', { ttlSecondsAfterFinished: 604_800 }));
    await finish(bed, 'one');
    await bed.pass(5);
    await bed.patch('one', { ttlSecondsAfterFinished: 10 });
    bed.sweep();
    await bed.until('it is deleted', () => !bed.taskNames().includes('one'));
  });

  test('a task that is deleted at work leaves nothing', async () => {
    await using bed = await Bed.start();
    playWorkers(
      bed,
      obedient(() => works),
    );
    await begin(bed);
    await bed.tasks.delete({ namespace: 'team', name: 'one' });
    await bed.until('all is gone', () => bed.taskNames().length === 0 && bed.sandboxes().length === 0);
    await begin(bed);
    expect(bed.invariants.faults).toEqual([]);
  });
});
