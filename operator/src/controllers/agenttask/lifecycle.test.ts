import { describe, expect, test } from 'vitest';
import { Bed } from './testing/bed.ts';
import { begin, condition, finish, isReady, reported } from './testing/look.ts';
import { newPool, newTask } from './testing/objects.ts';
import { fails, obedient, playWorkers, succeeds, usage, works, succeedsLater } from './testing/scriptedWorker.ts';

const twice = Object.fromEntries(Object.entries(usage).map(([field, value]) => [field, 2 * value]));

const directive = (bed: Bed): string | undefined => bed.task('one').status?.assignment?.directive;

describe('the life of a task', () => {
  test('three writes lead to a ready sandbox, two more to the end', async () => {
    await using bed = await Bed.start();
    await bed.create(newTask('one'));
    await bed.until('the sandbox is ready', isReady(bed));
    const status = 'apply agenttasks.agentfleet.dev status';
    const writes = (): string[] => bed.writes.map(({ verb, resource, subresource }) => `${verb} ${resource} ${subresource}`.trim());
    expect(writes()).toEqual(['create pods', status, status]);
    expect(bed.server.requests.filter(({ verb, userAgent }) => verb === 'get' && userAgent.startsWith('operator'))).toEqual([]);
    expect(bed.events).toEqual([]);
    expect(bed.task('one').status).toMatchObject({
      phase: 'Running',
      finished: 'false',
      assignment: { attempt: 1, epoch: 1, worker: 'w-1', sandbox: 'one-1' },
    });
    await bed.pass(60);
    expect(writes()).toHaveLength(3);
    playWorkers(bed, obedient(succeeds));
    const task = await finish(bed);
    await bed.until('the sandbox is gone', () => bed.sandboxes().length === 0);
    expect(writes().slice(3)).toEqual([status, 'delete pods', 'patch pods']);
    expect(task.status).toMatchObject({ phase: 'Succeeded', totals: { usage }, attempts: [{ number: 1, reason: 'ChecksPassed' }] });
    expect([reported(task, 'Ready'), reported(task, 'Succeeded'), reported(task, 'Finished'), reported(task, 'RolledBack')]).toEqual([
      'True/Succeeded',
      'True/ChecksPassed',
      'True/ChecksPassed',
      '-/-',
    ]);
  });

  test('a failed attempt waits, then another one follows in the same sandbox', async () => {
    await using bed = await Bed.start();
    playWorkers(
      bed,
      obedient(({ attempt }, task) => (attempt === 1 ? fails() : succeeds({ ...task.status!.assignment! }, task))),
    );
    await bed.create(newTask('one'));
    await bed.until('it backs off', () => reported(bed.task('one'), 'Scheduled') === 'False/Backoff');
    expect(bed.task('one').status).toMatchObject({
      phase: 'Queued',
      assignment: { attempt: 1, epoch: 1, directive: 'Quiesce' },
      attempts: [{ number: 1, class: 'CheckFailed' }],
    });
    expect(condition(bed.task('one'), 'Ready')?.message).toContain('attempt 1 failed with CheckFailed: 1 of 3 tests fails');
    const task = await finish(bed);
    expect(task.status).toMatchObject({
      phase: 'Succeeded',
      assignment: { attempt: 2, epoch: 2, sandbox: 'one-1' },
      totals: { usage: twice },
    });
    const [first, second] = task.status?.attempts ?? [];
    expect(Date.parse(second?.startedAt ?? '') - Date.parse(first?.endedAt ?? '')).toBeGreaterThanOrEqual(10_000);
    expect(bed.writes.filter(({ verb, resource }) => verb === 'create' && resource === 'pods')).toHaveLength(1);
  });

  test('when no attempt is left the tree is restored, verified, and the task has failed', async () => {
    await using bed = await Bed.start();
    playWorkers(
      bed,
      obedient(() => fails()),
    );
    await bed.create(newTask('one', { attempts: { max: 2, backoff: { seconds: 1 } } }));
    const task = await finish(bed);
    expect(task.status).toMatchObject({
      phase: 'Failed',
      assignment: { attempt: 2, directive: 'Rollback' },
      run: { rollback: { snapshot: 's0001', verified: true } },
      totals: { usage: twice },
    });
    expect([reported(task, 'Ready'), reported(task, 'Stalled'), reported(task, 'Succeeded'), reported(task, 'RolledBack')]).toEqual([
      'False/CheckFailed',
      'True/CheckFailed',
      'False/CheckFailed',
      'True/Restored',
    ]);
    expect(condition(task, 'Ready')?.message).toBe(
      '2 of 2 attempts failed, the last with ChecksFailed: 1 of 3 tests fails; snapshot s0001 is restored and its hash verified',
    );
    expect(bed.events.map(({ reason }) => reason)).toEqual([
      'AttemptFailed',
      'Assigned',
      'AttemptFailed',
      'RollingBack',
      'RolledBack',
      'Failed',
    ]);
  });

  test('a restore that is not verified keeps the sandbox for inspection', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, (assignment) =>
      assignment.directive === 'Rollback' ? { ...works, rollback: { snapshot: 's0001', verified: false } } : fails(),
    );
    await bed.create(newTask('one', { attempts: { max: 1 } }));
    const task = await finish(bed);
    expect([reported(task, 'RolledBack'), task.status?.phase]).toEqual(['False/NotVerified', 'Failed']);
    await bed.pass(300);
    expect(bed.sandboxes()).toHaveLength(1);
  });

  test('whenFailed Keep restores nothing', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, () => fails());
    await bed.create(newTask('one', { attempts: { max: 1 }, rollback: { whenFailed: 'Keep' }, retention: { sandboxSeconds: 60 } }));
    const task = await finish(bed);
    expect([reported(task, 'RolledBack'), directive(bed)]).toEqual(['False/Kept', 'Run']);
    expect(bed.sandboxes()).toHaveLength(1);
    await bed.pass(61);
    expect(bed.sandboxes()).toHaveLength(0);
  });

  test('no sandbox is kept for longer than the pool allows', async () => {
    await using bed = await Bed.start(newPool({ policy: { maxRetentionSeconds: 3600 } }));
    playWorkers(bed, succeeds);
    await bed.create(newTask('one', { retention: { sandboxSeconds: 86_400 } }));
    const task = await finish(bed);
    expect(condition(task, 'SandboxReady')?.message).toBe('the sandbox stays for 3600 s after the end');
    expect(bed.sandboxes()).toHaveLength(1);
    await bed.pass(3601);
    expect(bed.sandboxes()).toHaveLength(0);
  });

  test('a sandbox that is deleted costs no attempt: the next one begins in a new sandbox when the old one has ended', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, obedient(succeedsLater));
    await begin(bed, { attempts: { max: 1 } });
    bed.kubelet.frozen = true;
    await bed.pods.delete({ namespace: 'team', name: 'one-1' });
    await bed.until('the attempt is closed', () => bed.task('one').status?.attempts?.length === 1);
    await bed.pass(10);
    expect(reported(bed.task('one'), 'Scheduled')).toBe('False/SandboxEnding');
    bed.kubelet.frozen = false;
    const task = await finish(bed);
    expect(task.status?.attempts).toMatchObject([
      { class: 'Infrastructure', reason: 'SandboxLost', usage: { toolCalls: usage.toolCalls } },
      { number: 2, reason: 'ChecksPassed' },
    ]);
    expect(task.status).toMatchObject({ assignment: { epoch: 2, sandbox: 'one-2' }, totals: { usage: twice } });
  });

  test('a node that does not report holds the next sandbox up until its grace period is long over', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, obedient(succeedsLater));
    await begin(bed);
    bed.kubelet.frozen = true;
    await bed.pods.delete({ namespace: 'team', name: 'one-1' });
    await bed.pass(60);
    expect(bed.sandboxes()[0]?.metadata.finalizers).toHaveLength(1);
    await bed.pass(12);
    expect(bed.sandboxes()[0]?.metadata.finalizers ?? []).toHaveLength(0);
    await bed.pods.delete({ namespace: 'team', name: 'one-1' }, { gracePeriodSeconds: 0 });
    bed.kubelet.frozen = false;
    expect((await finish(bed)).status?.phase).toBe('Succeeded');
  });

  test('a worker whose Lease ends loses the task to another one, in the same sandbox', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, obedient(succeedsLater));
    await begin(bed, { attempts: { max: 1 } });
    await bed.addWorker('w-2');
    bed.beating.delete('w-1');
    const task = await finish(bed);
    expect(task.status).toMatchObject({ phase: 'Succeeded', assignment: { attempt: 2, epoch: 2, worker: 'w-2', sandbox: 'one-1' } });
    expect(task.status?.attempts?.[0]).toMatchObject({ class: 'Infrastructure', reason: 'WorkerLost' });
  });

  test('a deleted worker pod is lost at once, and the task waits for one that is ready', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, obedient(succeedsLater));
    await begin(bed);
    bed.beating.delete('w-1');
    await bed.pods.delete({ namespace: 'platform', name: 'w-1' });
    await bed.until('it waits', () => reported(bed.task('one'), 'Scheduled') === 'False/NoWorkerReady');
    await bed.addWorker('w-2');
    expect((await finish(bed)).status).toMatchObject({ phase: 'Succeeded', assignment: { worker: 'w-2' } });
  });

  test('the deadline ends an attempt, and what was done is undone', async () => {
    await using bed = await Bed.start();
    playWorkers(
      bed,
      obedient(() => works),
    );
    await bed.create(newTask('one', { deadlineSeconds: 30 }));
    const task = await finish(bed);
    expect(task.status?.attempts).toMatchObject([{ class: 'DeadlineExceeded', usage: { toolCalls: usage.toolCalls } }]);
    expect([reported(task, 'Succeeded'), reported(task, 'RolledBack')]).toEqual(['False/DeadlineExceeded', 'True/Restored']);
  });

  test('while it is suspended no clock runs; it goes on under a new epoch', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, obedient(succeedsLater));
    await begin(bed, { deadlineSeconds: 30 });
    await bed.patch('one', { suspend: true });
    await bed.until('it is suspended', () => reported(bed.task('one'), 'Suspended') === 'True/Quiescing');
    expect(directive(bed)).toBe('Quiesce');
    await bed.pass(100);
    await bed.patch('one', { suspend: false });
    const task = await finish(bed);
    expect(task.status).toMatchObject({ phase: 'Succeeded', assignment: { attempt: 1, epoch: 2 } });
    expect(task.status?.clock?.pausedSeconds).toBeGreaterThanOrEqual(100);
    expect(task.status?.clock?.pausedAt).toBeUndefined();
    expect(reported(task, 'Suspended')).toBe('-/-');
  });

  test('a task that was restored without its status is not run before a person says so', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, obedient(succeeds));
    const label = 'velero.io/restore-name';
    await bed.create(newTask('one', { poolRef: { name: 'later', namespace: 'platform' } }, { labels: { [label]: 'monday' } }));
    await bed.until('it is refused', () => reported(bed.task('one'), 'Accepted') === 'False/RestoredWithoutStatus');
    expect(condition(bed.task('one'), 'Stalled')?.message).toContain(`remove its label ${label} to run it, or delete it`);
    await bed.createPool(newPool({}, 'later'));
    await bed.prepare(newPool({}, 'later'), ['team']);
    await bed.addWorker('w-later', 'later');
    await bed.pass(60);
    expect([bed.sandboxes().length, bed.task('one').status?.phase]).toEqual([0, 'Pending']);
    await bed.tasks.patch({ namespace: 'team', name: 'one' }, { metadata: { labels: { [label]: null } } });
    expect((await finish(bed)).status?.phase).toBe('Succeeded');
  });

  test('a status that follows its restored object finds it as it was made', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, obedient(succeeds));
    await bed.create(newTask('one', {}, { labels: { 'velero.io/restore-name': 'monday' } }));
    await bed.pass(5);
    const { metadata } = bed.task('one');
    const status = { finished: 'true', phase: 'Failed', conditions: [] };
    await bed.tasks.patch(metadata, { metadata: { resourceVersion: metadata.resourceVersion }, status }, { subresource: 'status' });
    await bed.pass(20);
    expect([bed.writes, bed.task('one').status?.phase]).toEqual([[], 'Failed']);
  });

  test('a task that is created suspended takes nothing until it is resumed', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, obedient(succeeds));
    await bed.create(newTask('one', { suspend: true }));
    await bed.until('it is suspended', () => bed.task('one').status?.phase === 'Suspended');
    await bed.pass(30);
    expect([bed.sandboxes().length, bed.task('one').status?.finished, bed.writes.length]).toEqual([0, 'false', 1]);
    await bed.patch('one', { suspend: false });
    expect((await finish(bed)).status?.phase).toBe('Succeeded');
  });
});
