import { events, findCondition, ResourceClient, type KubeEvent } from '@agentfleet/kube';
import type { AgentTaskStatus } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { decide } from './decide.ts';
import { Bed } from './testing/bed.ts';
import { condition, finish, isReady, reported } from './testing/look.ts';
import { preparingStatus, runningStatus, waitingStatus } from './testing/kubelet.ts';
import { newPool, newTask } from './testing/objects.ts';
import { ago, assignment, now, podOf, snapshotOf, taskOf, working } from './testing/snapshots.ts';
import { resources } from '../../runtime/resources.ts';
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
    expect(condition(bed.task('one'), 'Ready')?.message).toContain(
      'no such image: nope:1; create the task again with another spec.sandbox.image',
    );
    const task = await finish(bed);
    expect([reported(task, 'Succeeded'), reported(task, 'RolledBack')]).toEqual(['False/ImagePullBackOff', 'True/Discarded']);
    expect(condition(task, 'Ready')?.message).toContain('no such image: nope:1');
    expect(task.status?.attempts?.map(({ reason, started }) => [reason, started])).toEqual(
      Array.from({ length: 5 }, () => ['ImagePullBackOff', false]),
    );
    // It never worked, so that no clock ran; the deadline of 60 s did not end it.
    expect(task.status?.clock).toBeUndefined();
  });

  test('what the kubelet says in Events alone, while a sandbox takes its time and when its time is over', async () => {
    await using bed = await Bed.start();
    const client = new ResourceClient(bed.transport, events);
    bed.kubelet.startsAs = ({ metadata: { name, uid = '' } }) => {
      const note = 'MountVolume.SetUp failed for volume "link": secret "agentfleet-link" not found';
      const about = { regarding: { kind: 'Pod', namespace: 'team', name, uid }, eventTime: '2030-01-01T00:00:00Z' };
      const event = { metadata: { name: `${name}.1`, namespace: 'team' }, type: 'Warning', reason: 'FailedMount', note, ...about };
      void client.create(event as unknown as KubeEvent).catch(() => undefined);
      return preparingStatus(bed.clock.now());
    };
    await bed.create(newTask('one'));
    const said = (): string | undefined => condition(bed.task('one'), 'Ready')?.message;
    await bed.until('it is reported', () => said()?.includes('FailedMount: MountVolume') === true, 200);
    expect(reported(bed.task('one'), 'SandboxReady')).toBe('False/Starting');
    await bed.until('its time is over', () => bed.task('one').status?.attempts?.length === 1);
    expect(reported(bed.task('one'), 'Ready')).toBe('Unknown/SandboxStartTimeout');
    expect(said()).toContain('secret "agentfleet-link" not found');
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

  test.each([
    ['a node that does not report', { type: 'Ready', status: 'False' }, 'NodeNotReady'],
    ['a gate that is closed', { type: 'Ready', status: 'False', reason: 'ReadinessGatesNotReady' }, 'Ready'],
  ])('%s is reported of a sandbox at work', (_, condition, reason) => {
    const { containerStatuses } = podOf('one-1').status!;
    const pods = [podOf('one-1', { status: { containerStatuses, conditions: [condition] } })];
    const { conditions } = decide(snapshotOf(taskOf(working), { pods }), now).status;
    expect(findCondition(conditions, 'SandboxReady')?.reason).toBe(reason);
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

const pod = 'pods "one-1" is forbidden';

test.each([
  [`${pod}: exceeded quota: compute, requested: cpu=2, used: cpu=3, limited: cpu=4`, 'ResourceQuotaExceeded', 'raise that ResourceQuota'],
  [`${pod}: failed quota: compute: must specify limits.cpu for: tools`, 'SandboxRefused', 'set spec.sandbox.resources'],
  [`${pod}: maximum memory usage per Container is 1Gi, but limit is 4Gi`, 'SandboxRefused', 'or that LimitRange'],
  [`${pod}: violates PodSecurity "restricted:latest": unrestricted capabilities`, 'SandboxRefused', 'pod-security.kubernetes.io/enforce'],
  [`${pod}: no PriorityClass with name high was found`, 'SandboxRefused', 'priorityClassName of the pool'],
  ['admission webhook "validate.kyverno.svc" denied the request: no', 'SandboxRefused', 'a policy of the cluster forbids it'],
  ['Internal error occurred: failed calling webhook "a.b": no endpoints available', 'SandboxRefused', 'that webhook does not answer'],
  [`${pod}: unable to create new content in namespace team because it is being terminated`, 'SandboxRefused', 'is being deleted'],
  ['something new', 'SandboxRefused', 'correct what it names'],
])('a refusal of the API server has a cure: %s', (refusal, reason, cure) => {
  const { conditions } = decide(snapshotOf(taskOf(undefined), { refusal }), now).status;
  expect(findCondition(conditions, 'Ready')).toMatchObject({ reason, message: expect.stringContaining(refusal) as string });
  expect(findCondition(conditions, 'Ready')?.message).toContain(cure);
});

test('a pod of somebody else that has the name of the sandbox is named with the cure, and left alone', async () => {
  await using bed = await Bed.start();
  playWorkers(bed, obedient(succeeds));
  // As a StatefulSet one calls its second pod.
  const uid = bed.server.objects(resources.expertPools)[0]?.metadata.uid ?? '';
  const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'one', uid, controller: true };
  await bed.pods.create({ metadata: { name: 'one-1', namespace: 'team', ownerReferences: [owner] }, spec: { containers: [] } });
  await bed.create(newTask('one'));
  await bed.until('it is reported', () => reported(bed.task('one'), 'Scheduled') === 'False/NameTaken', 200);
  expect(condition(bed.task('one'), 'Scheduled')?.message).toContain(
    'there is a Pod one-1 that belongs to StatefulSet one and not to this task; create the task again under another name',
  );
  const [writes, version] = [bed.writes.length, bed.task('one').metadata.resourceVersion];
  await bed.pass(120);
  // One try in half a minute: nobody reports that the name is free.
  expect(bed.writes.length - writes).toBeLessThanOrEqual(5);
  expect(bed.task('one').metadata.resourceVersion).toBe(version);
  await bed.pods.delete({ namespace: 'team', name: 'one-1' }, { gracePeriodSeconds: 0 });
  expect((await finish(bed)).status?.phase).toBe('Succeeded');
});

test('an admission webhook that does not answer is reported, and not asked again at once', async () => {
  await using bed = await Bed.start();
  playWorkers(bed, obedient(succeeds));
  const message = 'Internal error occurred: failed calling webhook "a.b": no endpoints available';
  bed.server.onRequest = ({ verb, resource, userAgent }) =>
    verb === 'create' && resource === 'pods' && userAgent.startsWith('operator')
      ? { kind: 'error', code: 500, reason: 'InternalError', message }
      : undefined;
  await bed.create(newTask('one'));
  await bed.until('it is reported', () => reported(bed.task('one'), 'Scheduled') === 'False/SandboxRefused', 200);
  bed.server.onRequest = undefined;
  expect((await finish(bed)).status?.phase).toBe('Succeeded');
});

describe('what kept the last sandbox from starting stays in sight', () => {
  const cause = 'the sandbox did not answer within 120 s: pod one-1 has no node: 0/3 nodes are available; offer nodes';
  const ended = {
    number: 1,
    startedAt: ago(900),
    endedAt: ago(600),
    class: 'Infrastructure',
    reason: 'Unschedulable',
    started: false,
  } as const;
  const said = { type: 'SandboxReady', status: 'False', reason: 'Unschedulable', message: cause, lastTransitionTime: ago(600) } as const;
  const status: AgentTaskStatus = {
    ...working,
    conditions: [said],
    attempts: [ended],
    assignment: { ...assignment, directive: 'Quiesce' },
  };
  const queue = { running: 9, runningInNamespace: 9, waiting: 0, ahead: 0, takers: 0, stranded: 0 };

  test.each<readonly [string, Parameters<typeof snapshotOf>[1], string]>([
    ['no worker', { workers: [] }, 'NoWorkerReady'],
    ['a pool at its limit', { queue, resolution: { pool: newPool({ limits: { maxRunning: 9 } }) } }, 'PoolAtLimit'],
    ['a namespace at its limit', { queue, resolution: { pool: newPool({ limits: { perNamespace: 9 } }) } }, 'QuotaExceeded'],
    ['other tasks first', { queue: { ...queue, running: 0, runningInNamespace: 0, takers: 99 } }, 'WaitingForSlot'],
    ['a namespace that is not prepared', { prepared: false }, 'NamespaceNotPrepared'],
    ['an older sandbox that ends', { pods: [podOf('one-0', { metadata: { deletionTimestamp: ago(1) } })] }, 'SandboxEnding'],
    [
      'the book of spending',
      { spending: { book: null }, resolution: { pool: newPool({ limits: { spending: { windowSeconds: 60, tokens: 9 } } }) } },
      'SpendingUnknown',
    ],
  ])('behind %s', (_, change, reason) => {
    const { conditions } = decide(snapshotOf(taskOf(status), { pods: [], ...change }), now).status;
    expect(findCondition(conditions, 'Scheduled')?.reason).toBe(reason);
    expect(findCondition(conditions, 'SandboxReady')).toMatchObject({ reason: 'Unschedulable', message: cause });
    const { reason: shown, message } = findCondition(conditions, 'Ready')!;
    expect(shown).toBe('Unschedulable');
    expect(message).toContain(cause);
    expect(message).toContain(findCondition(conditions, 'Scheduled')!.message);
  });

  test('unless the next one is refused: that is newer', () => {
    const { conditions } = decide(snapshotOf(taskOf(status), { pods: [], refusal: 'no PriorityClass with name x' }), now).status;
    expect(findCondition(conditions, 'Ready')?.reason).toBe('SandboxRefused');
  });
});
