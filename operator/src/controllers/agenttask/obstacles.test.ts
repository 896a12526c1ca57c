import { findCondition } from '@agentfleet/kube';
import type { AgentTaskStatus } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { decide } from './decide.ts';
import { Bed } from './testing/bed.ts';
import { condition, finish, isReady, reported } from './testing/look.ts';
import { runningStatus, waitingStatus } from './testing/kubelet.ts';
import { newPool, newTask } from './testing/objects.ts';
import { ago, assignment, now, podOf, snapshotOf, taskOf, working } from './testing/snapshots.ts';
import { obedient, playWorkers, succeeds, works } from './testing/scriptedWorker.ts';

describe('what stands in the way is reported', () => {
  test('sandboxes that cannot start hold their slots no longer than they may, so that others begin', async () => {
    await using bed = await Bed.start(
      newPool({ workers: { concurrency: 4 }, limits: { perNamespace: 4 }, sandbox: { startTimeoutSeconds: 20 } }),
    );
    playWorkers(bed, obedient(succeeds));
    bed.kubelet.startsAs = (pod) =>
      pod.metadata.name.startsWith('bad') ? waitingStatus('ImagePullBackOff', 'no such image: nope:1') : runningStatus(true);
    for (const name of ['bad-a', 'bad-b', 'bad-c', 'bad-d']) await bed.create(newTask(name, { sandbox: { image: 'nope:1' } }));
    await bed.until('all slots are held', () => bed.sandboxes().length === 4);
    await bed.create(newTask('good'));
    await bed.until('it waits', () => reported(bed.task('good'), 'Scheduled') !== '-/-');
    expect(reported(bed.task('good'), 'Scheduled')).toBe('False/QuotaExceeded');
    // A quarter of a second for a step: 24 s.
    await bed.until('the good one succeeds', () => bed.task('good').status?.phase === 'Succeeded', 96);
    const bad = bed.task('bad-a');
    expect([bad.status?.phase, reported(bad, 'Ready'), reported(bad, 'SandboxReady')]).toEqual([
      'Queued',
      'Unknown/ImagePullBackOff',
      'False/ImagePullBackOff',
    ]);
    expect(bed.invariants.faults).toEqual([]);
  });

  test('a pool that is not there, until it is', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, obedient(succeeds));
    await bed.create(newTask('one', { poolRef: { name: 'later', namespace: 'platform' } }));
    await bed.until('it is reported', () => reported(bed.task('one'), 'Accepted') === 'False/PoolNotFound');
    const pool = newPool({}, 'later');
    await bed.createPool(pool);
    await bed.prepare(pool, ['team']);
    await bed.addWorker('w-later', 'later');
    expect((await finish(bed)).status?.phase).toBe('Succeeded');
  });

  test('a namespace that is not prepared, until it is', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, obedient(succeeds));
    await bed.create(newTask('one', {}, { namespace: 'other' }));
    await bed.until('it is reported', () => reported(bed.task('one'), 'Scheduled') === 'False/NamespaceNotPrepared');
    await bed.prepare(newPool(), ['other', 'team']);
    expect((await finish(bed)).status?.phase).toBe('Succeeded');
  });

  test('an image that cannot be pulled, at once; after five tries it has failed and nothing was changed', async () => {
    await using bed = await Bed.start();
    bed.kubelet.startsAs = () => waitingStatus('ImagePullBackOff', 'no such image: nope:1');
    await bed.create(newTask('one', { sandbox: { image: 'nope:1' }, deadlineSeconds: 60 }));
    await bed.until('it is reported', () => reported(bed.task('one'), 'SandboxReady') === 'False/ImagePullBackOff');
    expect(condition(bed.task('one'), 'Ready')?.message).toContain('no such image: nope:1');
    const task = await finish(bed);
    expect([reported(task, 'Succeeded'), reported(task, 'RolledBack')]).toEqual(['False/ImagePullBackOff', 'True/Discarded']);
    expect(condition(task, 'Ready')?.message).toContain('no such image: nope:1');
    expect(task.status?.attempts?.map(({ reason, started }) => [reason, started])).toEqual(
      Array.from({ length: 5 }, () => ['ImagePullBackOff', false]),
    );
    // It never worked, so that no clock ran; the deadline of 60 s did not end it.
    expect(task.status?.clock).toBeUndefined();
  });

  test('an image name that can never be right fails the task', async () => {
    await using bed = await Bed.start();
    bed.kubelet.startsAs = () => waitingStatus('InvalidImageName', 'cannot parse');
    await bed.create(newTask('one', { sandbox: { image: 'nope:::1' } }));
    const task = await finish(bed);
    expect(task.status?.attempts).toMatchObject([{ class: 'InvalidInput', reason: 'InvalidImageName' }]);
    expect(task.status?.phase).toBe('Failed');
  });

  test('an API server that refuses the pod, until it does not', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, obedient(succeeds));
    bed.server.onRequest = ({ verb, resource, userAgent }) =>
      verb === 'create' && resource === 'pods' && userAgent.startsWith('operator')
        ? { kind: 'error', code: 403, reason: 'Forbidden' }
        : undefined;
    await bed.create(newTask('one'));
    await bed.until('it is reported', () => reported(bed.task('one'), 'Scheduled') === 'False/SandboxRefused');
    expect(condition(bed.task('one'), 'Ready')?.message).toContain('injected by the test');
    bed.server.onRequest = undefined;
    expect((await finish(bed)).status?.phase).toBe('Succeeded');
  });

  test('a wall that is weaker than the pool demands ends the attempt', async () => {
    await using bed = await Bed.start(newPool({ policy: { minIsolation: 'Landlock' } }));
    playWorkers(
      bed,
      obedient(() => ({ ...works, isolation: { level: 'Seccomp', network: 'Enforced' } })),
    );
    await bed.create(newTask('one'));
    const task = await finish(bed);
    expect(task.status?.attempts).toMatchObject([{ class: 'PolicyViolation', reason: 'IsolationBelowFloor' }]);
  });

  test('a keeper that restarts is not a lost sandbox, nor are tools that restart news', async () => {
    await using bed = await Bed.start();
    await bed.create(newTask('one'));
    await bed.until('the sandbox is ready', isReady(bed));
    const before = bed.writes.length;
    const restarted = runningStatus(true) as { containerStatuses: { name: string; ready: boolean }[] };
    const tools = restarted.containerStatuses.map((status) => ({ ...status, ready: status.name === 'keeper' }));
    await bed.pods.patch(
      { namespace: 'team', name: 'one-1' },
      { status: { ...restarted, containerStatuses: tools } },
      { subresource: 'status' },
    );
    await bed.pass(5);
    expect(bed.writes.length).toBe(before);
    await bed.pods.patch({ namespace: 'team', name: 'one-1' }, { status: runningStatus(false) }, { subresource: 'status' });
    await bed.until('it is reported', () => reported(bed.task('one'), 'SandboxReady') === 'False/KeeperNotReady');
    expect(bed.task('one').status?.attempts).toBeUndefined();
  });

  test('a keeper that does not answer goes on to be reported, whatever else is looked at meanwhile', () => {
    const containerStatuses = ['keeper', 'tools'].map((name) => ({ name, ready: false, restartCount: 1, state: { running: {} } }));
    const pods = [podOf('one-1', { status: { containerStatuses } })];
    let status: AgentTaskStatus = { ...working, assignment: { ...assignment, sandboxReadyAt: ago(90) } };
    for (let look = 0; look < 2; look += 1) {
      status = decide(snapshotOf(taskOf(status), { pods }), now).status;
      expect(findCondition(status.conditions, 'SandboxReady')?.reason).toBe('KeeperNotReady');
    }
  });
});
