import { isWrite } from '@agentfleet/kube/testing';
import { ResourceClient } from '@agentfleet/kube';
import type { ExpertPool, PoolGrant } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { describe, expect, test } from 'vitest';
import { type Node, resources } from '../../runtime/resources.ts';
import { Claims } from '../agenttask/execute.ts';
import { sandboxFinalizer } from '@agentfleet/protocol/pool';
import { Bed } from '../agenttask/testing/bed.ts';
import { begin, finish, isReady, reported } from '../agenttask/testing/look.ts';
import { newPool, newTask } from '../agenttask/testing/objects.ts';
import { waitingStatus } from '../agenttask/testing/kubelet.ts';
import { obedient, playWorkers, succeeds, succeedsLater } from '../agenttask/testing/scriptedWorker.ts';

const warm = (replicas: number, change: object = {}) =>
  newPool({ sandbox: { warm: [{ namespace: 'team', replicas, maxAgeSeconds: 3600, ...change }] } });
const names = (bed: Bed): readonly string[] => bed.waiting().map(({ metadata }) => metadata.name);
const readyToTake = (bed: Bed, count: number) => (): boolean =>
  bed.waiting().length === count && bed.waiting().every(({ status }) => status?.containerStatuses?.every(({ ready }) => ready) === true);

async function withWarm(replicas: number, change: object = {}): Promise<Bed> {
  const bed = await Bed.start(warm(replicas, change));
  await bed.until('they wait', readyToTake(bed, replicas));
  return bed;
}

const patchPool = (bed: Bed, spec: object): Promise<ExpertPool> =>
  new ResourceClient<ExpertPool>(bed.transport, resources.expertPools).patch({ namespace: 'platform', name: 'coding' }, { spec });

describe('a sandbox that waits', () => {
  test('knows its pool and no task, and is like the one that a task would get', async () => {
    await using bed = await withWarm(1);
    const [pod] = bed.waiting();
    expect(pod?.metadata.name).toMatch(/^coding-warm-/);
    expect(pod?.metadata.labels?.[labels.task]).toBeUndefined();
    expect([pod?.metadata.ownerReferences, pod?.metadata.finalizers]).toEqual([undefined, undefined]);
    await bed.create(newTask('own', { sandbox: { image: 'tools:1' } }));
    await bed.until('the task has its own', isReady(bed, 'own'));
    const made = bed.sandboxes().find(({ metadata }) => metadata.labels?.[labels.task] === 'own');
    expect(pod?.spec).toEqual(made?.spec);
    expect(bed.task('own').status?.assignment).toMatchObject({ sandbox: 'own-1', warm: false });
    expect(names(bed)).toEqual([pod?.metadata.name]);
  });

  test('is taken by a task in one write, which is ready with the next one, and another one is made', async () => {
    await using bed = await withWarm(1);
    const [name] = names(bed);
    const before = bed.writes.length;
    await bed.create(newTask('one'));
    await bed.until('the sandbox is ready', isReady(bed));
    const writes = bed.writes
      .slice(before)
      .map(({ verb, resource, subresource, name: of }) => `${verb} ${resource} ${subresource} ${of ?? ''}`.trim());
    // What is made in its place, and the record of that, are no part of it.
    expect(writes.filter((write) => !/^(create pods|apply configmaps)/.test(write))).toEqual([
      `patch pods  ${name ?? ''}`,
      'apply agenttasks.agentfleet.dev status one',
    ]);
    expect(bed.task('one').status).toMatchObject({ phase: 'Running', assignment: { sandbox: name, warm: true, epoch: 1 } });
    const taken = bed.sandboxes().find(({ metadata }) => metadata.name === name);
    expect(taken?.metadata).toMatchObject({ finalizers: [sandboxFinalizer], labels: { [labels.task]: 'one' } });
    expect(taken?.metadata.labels?.[labels.warm]).toBeUndefined();
    expect(taken?.metadata.ownerReferences).toMatchObject([{ kind: 'AgentTask', name: 'one', controller: true }]);
    await bed.until('another one waits', readyToTake(bed, 1));
    await bed.pass(30);
    expect(bed.writes.slice(before).filter(({ verb, resource }) => verb !== 'create' && resource !== 'configmaps')).toHaveLength(2);
    expect(bed.writes.slice(before).filter(({ resource }) => resource === 'configmaps')).toHaveLength(1);
    playWorkers(bed, obedient(succeeds));
    expect((await finish(bed)).status?.phase).toBe('Succeeded');
    await bed.until('only the other one is left', () => bed.sandboxes().length === 1);
  });

  test('is not taken on a node that does not report: its containers stay ready there for ever', async () => {
    await using bed = await withWarm(1);
    const [name = ''] = names(bed);
    const conditions = [{ type: 'Ready', status: 'False' }];
    await bed.pods.patch({ namespace: 'team', name }, { status: { conditions } }, { subresource: 'status' });
    await bed.create(newTask('one'));
    await bed.until('it has a sandbox', isReady(bed));
    expect(bed.task('one').status?.assignment?.sandbox).not.toBe(name);
    await bed.until('another one waits', () => readyToTake(bed, 1)() && !names(bed).includes(name));
  });

  test('of a cordoned node is replaced, and taken only where no other one waits', async () => {
    await using bed = await withWarm(2);
    const [first = '', second = ''] = names(bed);
    const cordon = (pod: string): Promise<unknown> =>
      new ResourceClient<Node>(bed.transport, resources.nodes).create({ metadata: { name: `of-${pod}` }, spec: { unschedulable: true } });
    for (const name of [first, second]) await bed.pods.patch({ namespace: 'team', name }, { spec: { nodeName: `of-${name}` } });
    bed.kubelet.startsAs = () => ({ phase: 'Pending' });
    await cordon(first);
    await bed.until('another one is made', () => names(bed).length === 3);
    const sandboxOf = (task: string): string | undefined => bed.task(task).status?.assignment?.sandbox;
    await bed.create(newTask('one'));
    await bed.until('it is assigned', () => sandboxOf('one') !== undefined);
    await bed.create(newTask('two'));
    await bed.until('so is the other', () => sandboxOf('two') !== undefined);
    expect([sandboxOf('one'), sandboxOf('two')]).toEqual([second, first]);
  });

  test('that is taken stays with the task in its next attempt', async () => {
    await using bed = await withWarm(1);
    const [name] = names(bed);
    playWorkers(bed, obedient(succeedsLater));
    await begin(bed);
    await bed.addWorker('w-2');
    bed.beating.delete('w-1');
    const task = await finish(bed);
    expect(task.status?.assignment).toMatchObject({ worker: 'w-2', sandbox: name, warm: true });
  });

  test('is left alone by a task that demands a stronger wall, or of another namespace', async () => {
    await using bed = await withWarm(1);
    await bed.prepare(warm(1), ['team', 'other']);
    const [name] = names(bed);
    await bed.create(newTask('strong', { policy: { minIsolation: 'UserNamespace' } }));
    await bed.create(newTask('far', {}, { namespace: 'other' }));
    await bed.until('both have their own', () => isReady(bed, 'strong')() && isReady(bed, 'far')());
    expect([bed.task('strong'), bed.task('far')].map(({ status }) => status?.assignment?.warm)).toEqual([false, false]);
    expect(names(bed)).toEqual([name]);
  });
});

describe('of tasks that come at once', () => {
  test('each gets a sandbox of its own, the first ones those that wait', async () => {
    await using bed = await Bed.start(newPool({ workers: { concurrency: 8 }, sandbox: { warm: [{ namespace: 'team', replicas: 2 }] } }));
    await bed.until('they wait', readyToTake(bed, 2));
    const taken = new Set(names(bed));
    bed.kubelet.frozen = true; // nothing new becomes ready
    const many = ['a', 'b', 'c', 'd', 'e'];
    await Promise.all(many.map((name) => bed.create(newTask(name))));
    await bed.until('all are assigned', () => many.every((name) => bed.task(name).status?.assignment !== undefined));
    const sandboxes = many.map((name) => bed.task(name).status!.assignment!);
    expect(new Set(sandboxes.map(({ sandbox }) => sandbox)).size).toBe(5);
    expect(
      sandboxes
        .filter(({ warm }) => warm)
        .map(({ sandbox }) => sandbox)
        .sort(),
    ).toEqual([...taken].sort());
    expect(bed.invariants.faults).toEqual([]);
  });

  test('one gets the pod when two of two operators try, and the other one hears of it', async () => {
    await using bed = await withWarm(1);
    const [pod] = bed.waiting();
    await bed.stopOperator();
    for (const name of ['one', 'two']) await bed.create(newTask(name));
    const { signal } = new AbortController();
    const answers = await Promise.all(['one', 'two'].map((name) => new Claims(bed.pods).claim(bed.task(name), pod!, signal)));
    expect(answers.map(({ kind }) => kind).sort()).toEqual(['Claimed', 'Taken']);
    expect(bed.sandboxes()[0]?.metadata.ownerReferences).toHaveLength(1);
  });

  test('a task that loses the race makes its own', async () => {
    await using bed = await withWarm(1);
    const [pod] = bed.waiting();
    await bed.create(newTask('thief', { suspend: true }));
    await bed.until('it rests', () => bed.task('thief').status?.phase === 'Suspended');
    let stolen = false;
    bed.freeze(true, 'pods');
    bed.actors.push(async () => {
      if (stolen) return;
      stolen = true;
      await new Claims(bed.pods).claim(bed.task('thief'), pod!, new AbortController().signal);
    });
    await bed.step();
    await bed.create(newTask('one'));
    await bed.until('it is assigned', () => bed.task('one').status?.assignment !== undefined);
    expect(bed.task('one').status?.assignment).toMatchObject({ sandbox: 'one-1', warm: false });
    bed.freeze(false, 'pods');
    await bed.until('its sandbox is ready', isReady(bed));
    expect(bed.invariants.faults).toEqual([]);
  });

  test('a version that only the kubelet changed is taken all the same', async () => {
    await using bed = await withWarm(1);
    const [pod] = bed.waiting();
    bed.freeze(true, 'pods');
    await bed.pods.patch(pod!.metadata, { status: { podIP: '10.0.0.9' } }, { subresource: 'status' });
    await bed.create(newTask('one'));
    await bed.until('it is assigned', () => bed.task('one').status?.assignment !== undefined);
    bed.freeze(false, 'pods');
    expect(bed.task('one').status?.assignment).toMatchObject({ sandbox: pod!.metadata.name, warm: true });
  });

  test.each(['lost-response', 'before'] as const)('a claim whose answer never came (%s) makes no second sandbox', async (kind) => {
    await using bed = await withWarm(2);
    playWorkers(bed, obedient(succeeds));
    let faults = 0;
    bed.server.onRequest = (request) => {
      if (!request.userAgent.startsWith('operator') || !isWrite(request) || request.verb !== 'patch' || request.resource !== 'pods')
        return undefined;
      faults += 1;
      return faults <= 2 ? { kind } : undefined;
    };
    await bed.create(newTask('one'));
    const task = await finish(bed);
    expect(faults).toBeGreaterThanOrEqual(1);
    expect(task.status).toMatchObject({ phase: 'Succeeded', assignment: { warm: true, epoch: 1 } });
  });
});

describe('the pool', () => {
  test('that is deleted, stops to allow the namespace or asks for none takes those that wait with it, and none that is taken', async () => {
    for (const end of [
      (bed: Bed) =>
        bed.transport.request({ method: 'DELETE', path: '/apis/agentfleet.dev/v1alpha1/namespaces/platform/expertpools/coding' }),
      (bed: Bed) => patchPool(bed, { allowedNamespaces: { from: 'Same' } }),
      (bed: Bed) => patchPool(bed, { sandbox: { warm: null } }),
    ]) {
      await using bed = await withWarm(2);
      await bed.create(newTask('one'));
      await bed.until('one is taken', isReady(bed));
      await end(bed);
      await bed.until('nobody waits', () => bed.waiting().length === 0);
      expect(bed.sandboxes().map(({ metadata }) => metadata.labels?.[labels.task])).toEqual(['one']);
    }
  });

  test('that changes its template replaces those that wait, and no task takes an old one', async () => {
    await using bed = await withWarm(2);
    const before = names(bed);
    bed.server.onRequest = ({ verb, resource }) => (verb === 'delete' && resource === 'pods' ? { kind: 'before' } : undefined);
    await patchPool(bed, { sandbox: { template: { image: 'tools:2' } } });
    await bed.create(newTask('one'));
    await bed.until('it is assigned', () => bed.task('one').status?.assignment !== undefined);
    expect(before).not.toContain(bed.task('one').status?.assignment?.sandbox);
    bed.server.onRequest = undefined;
    await bed.until('two new ones wait', () => readyToTake(bed, 2)() && names(bed).every((name) => !before.includes(name)));
  });

  test('replaces those that came of age, without a moment in which none is ready', async () => {
    await using bed = await withWarm(2, { maxAgeSeconds: 60 });
    const before = names(bed);
    let fewest = Infinity;
    bed.actors.push(() => {
      const ready = bed.waiting().filter(({ status }) => status?.containerStatuses?.every(({ ready }) => ready) === true);
      fewest = Math.min(fewest, ready.length);
      return Promise.resolve();
    });
    await bed.until('others wait', () => names(bed).length > 0 && names(bed).every((name) => !before.includes(name)));
    await bed.until('as many as asked for', readyToTake(bed, 2));
    expect(fewest).toBeGreaterThanOrEqual(2);
    await bed.pass(30);
    expect(names(bed)).toHaveLength(2);
  });

  test.each([
    [403, 'Forbidden', 'violates PodSecurity', 'pod-security.kubernetes.io/enforce'],
    [500, 'InternalError', 'failed calling webhook "a.b"', 'that webhook does not answer'],
  ])('reports why none can be made (%i), tries again, and tasks do without', async (code, reason, message, cure) => {
    const pool = warm(2);
    await using bed = await Bed.start(newPool());
    let refused = true;
    bed.server.onRequest = ({ verb, resource, name, body }) => {
      const generated = (body as { metadata?: { generateName?: string } } | undefined)?.metadata?.generateName !== undefined;
      return refused && verb === 'create' && resource === 'pods' && name === undefined && generated
        ? { kind: 'error', code, reason, message }
        : undefined;
    };
    await patchPool(bed, { sandbox: pool.spec.sandbox });
    await bed.until('it is reported', () => bed.events.some(({ reason }) => reason === 'WarmSandboxRefused'), 400);
    expect(bed.events.find(({ reason }) => reason === 'WarmSandboxRefused')?.note).toContain(cure);
    await bed.create(newTask('one'));
    await bed.until('the task has its own', isReady(bed));
    expect(reported(bed.task('one'), 'SandboxReady')).toBe('True/Ready');
    refused = false;
    await bed.until('they wait', readyToTake(bed, 2));
  });

  test('reports why none comes to work', async () => {
    await using bed = await Bed.start(newPool());
    bed.kubelet.startsAs = () => waitingStatus('ImagePullBackOff', 'no such image');
    await patchPool(bed, { sandbox: warm(1).spec.sandbox });
    const told = () => bed.events.filter(({ reason }) => reason === 'WarmSandboxNotStarted');
    await bed.until('it is reported', () => told().length > 0, 800);
    expect(told()[0]?.note).toMatch(/^namespace team: ImagePullBackOff: .*no such image; .*template of the pool/);
  });

  test('makes none in a namespace that does not consent, and none remains when consent is withdrawn', async () => {
    await using bed = await Bed.start(newPool({ sandbox: { warm: [{ namespace: 'team', replicas: 2 }] } }), { platformNamespaces: [] });
    await bed.pass(5);
    expect(bed.sandboxes()).toEqual([]);
    const grants = new ResourceClient<PoolGrant>(bed.transport, resources.poolGrants);
    const spec: PoolGrant['spec'] = { from: [{ namespace: 'platform', name: 'coding' }], allow: ['Warm'] };
    const grant = {
      apiVersion: 'agentfleet.dev/v1alpha1',
      kind: 'PoolGrant',
      metadata: { name: 'coding', namespace: 'team' },
      spec,
    } as const;
    await grants.create(grant);
    await bed.until('they wait', readyToTake(bed, 2));
    await grants.delete(grant.metadata);
    await bed.until('they are gone', () => bed.sandboxes().length === 0);
  });

  test('makes none for a pool that is not accepted', async () => {
    await using bed = await Bed.start(newPool({ sandbox: { warm: [{ namespace: 'team', replicas: 1 }] } }));
    await bed.until('one waits', readyToTake(bed, 1));
    const refused = { type: 'Accepted', status: 'False', reason: 'NameTaken', message: '', lastTransitionTime: '2030-01-01T00:00:00Z' };
    const pools = new ResourceClient<ExpertPool>(bed.transport, resources.expertPools);
    await pools.patch({ name: 'coding', namespace: 'platform' }, { status: { conditions: [refused] } }, { subresource: 'status' });
    await bed.pass(2);
    await bed.pods.delete(bed.sandboxes()[0]!.metadata);
    await bed.pass(5);
    expect(bed.sandboxes()).toEqual([]);
  });

  test('makes none where nothing is prepared, until it is', async () => {
    await using bed = await Bed.start(newPool({ sandbox: { warm: [{ namespace: 'other', replicas: 1 }] } }));
    await bed.pass(5);
    expect(bed.sandboxes()).toHaveLength(0);
    await bed.prepare(newPool(), ['team', 'other']);
    await bed.until('one waits', readyToTake(bed, 1));
  });
});
