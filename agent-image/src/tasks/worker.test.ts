// The whole runtime on a fake API server and a fake keeper, over real HTTP.
import { describe, expect, it } from 'vitest';
import { leases } from '@agentfleet/kube';
import { eventually, outcomes, running, succeeded, WorkerBed } from '../testing/bed.ts';
import { noUsage } from '../report/index.ts';
import { ScriptedEngine } from '../testing/scriptedEngine.ts';

describe('an attempt', () => {
  it('runs from the assignment to the outcome, which is written once, under attempt and epoch', async () => {
    await using bed = await running();
    const { context } = bed.engine.last!;
    expect(context.assignment.epoch).toBe(1);
    expect(context.used).toEqual({ earlier: noUsage, before: noUsage });
    context.report({ progress: { done: 1, total: 2, message: 'edits' }, usage: { ...noUsage, toolCalls: 3 } }, { urgent: true });
    await eventually('progress is written', () => bed.status('fix').run?.progress?.message === 'edits');
    expect(bed.status('fix').run?.isolation).toMatchObject({ level: 'Landlock', network: 'Enforced' });
    bed.engine.last?.finish(succeeded);
    await eventually('the outcome is written', () => bed.status('fix').run?.outcome !== undefined);
    expect(bed.status('fix').run).toMatchObject({ attempt: 1, epoch: 1, outcome: succeeded, usage: { toolCalls: 3 } });
    await bed.worker?.stop();
    expect(outcomes(bed)).toHaveLength(1);
    expect(bed.engine.calls).toHaveLength(1);
  });

  it('reports outcome and rollback only itself: the operator acts on them', async () => {
    await using bed = await running();
    const rollback = { snapshot: 's0001', verified: true };
    bed.engine.last?.context.report({ outcome: succeeded, rollback, progress: { done: 1, total: 1 } }, { urgent: true });
    await eventually('progress is written', () => bed.status('fix').run?.progress !== undefined);
    expect(bed.status('fix').run).not.toHaveProperty('outcome');
    expect(bed.status('fix').run).not.toHaveProperty('rollback');
  });

  it('drives the keeper with a token for this pod only and with its epoch', async () => {
    await using bed = await running();
    const call = bed.keeper.calls[0]!;
    expect(call.token).toMatch(/^token-for-[0-9a-f-]{36}$/);
    expect(call.epoch).toBe(1);
    const asked = bed.server.requests.find(({ subresource }) => subresource === 'token');
    expect(asked?.body).toMatchObject({
      spec: { expirationSeconds: 3600, boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'worker-0', uid: bed.podUid } },
    });
  });

  it('waits for the sandbox, and does not run under too weak isolation', async () => {
    await using bed = await WorkerBed.open();
    bed.keeper.facts.level = 'Container';
    await bed.start();
    await bed.task('fix');
    await bed.sandbox('fix-1');
    await eventually('it is refused', () => bed.status('fix').run?.outcome !== undefined);
    expect(bed.status('fix').run?.outcome).toMatchObject({ result: 'Failed', class: 'Infrastructure', reason: 'IsolationTooWeak' });
    expect(bed.status('fix').run?.outcome?.message).toContain('has isolation Container and needs Seccomp');
    expect(bed.engine.calls).toHaveLength(0);
  });

  it("obeys the task's own floor and the network's", async () => {
    await using bed = await WorkerBed.open();
    await bed.start();
    for (const name of ['own', 'net']) await bed.sandbox(`${name}-1`);
    await bed.task('own', {}, { policy: { profile: 'Default', network: { mode: 'Loopback' }, minIsolation: 'UserNamespace' } });
    await eventually('the level is refused', () => bed.status('own').run?.outcome?.reason === 'IsolationTooWeak');
    bed.keeper.facts.network = 'NotEnforced';
    await bed.task('net');
    await eventually('the network is refused', () => bed.status('net').run?.outcome?.reason === 'NetworkNotEnforced');
  });

  it('takes no more tasks at a time than it may, and the next one when a place is free', async () => {
    await using bed = await WorkerBed.open();
    await bed.start({ concurrency: 1 });
    for (const name of ['one', 'two']) {
      await bed.sandbox(`${name}-1`);
      await bed.task(name);
    }
    await eventually('one runs', () => bed.engine.calls.length === 1);
    const [first] = bed.engine.calls;
    first?.finish(succeeded);
    await eventually('the other runs', () => bed.engine.calls.length === 2);
    expect(first?.context.task.metadata.name).not.toBe(bed.engine.last?.context.task.metadata.name);
  });

  it('needs no place to end work: one that cannot come to rest keeps none from another, and a rollback does not wait for a run', async () => {
    await using bed = await WorkerBed.open();
    await bed.start({ concurrency: 1 });
    await bed.task('resting', { directive: 'Quiesce' });
    for (const name of ['works', 'restored']) await bed.sandbox(`${name}-1`);
    await bed.task('works');
    await eventually('it runs', () => bed.engine.last?.context.task.metadata.name === 'works');
    await bed.task('restored', { directive: 'Rollback' });
    await eventually('it is restored', () => bed.status('restored').run?.rollback !== undefined);
    expect(bed.status('works').run?.outcome).toBeUndefined();
  });
});

describe('directives', () => {
  it('Rollback: aborts the run, waits for it, restores and reports', async () => {
    await using bed = await running();
    const node = (id: string, state: 'Done' | 'Running' | 'Pending' | 'Dropped') => ({ id, kind: 'Step' as const, intent: 'i', state });
    bed.engine.last?.context.report({
      plan: [node('a', 'Done'), node('b', 'Running'), node('c', 'Pending')],
      progress: { done: 1, total: 3, message: 'runs b' },
    });
    await bed.assign('fix', { directive: 'Rollback' });
    await eventually('it is restored', () => bed.status('fix').run?.rollback !== undefined);
    expect(bed.status('fix').run?.plan).toEqual([node('a', 'Done'), node('b', 'Dropped'), node('c', 'Dropped')]);
    expect(bed.status('fix').run?.progress).toEqual({ done: 1, total: 3, message: 'rolled back' });
    expect(bed.engine.calls.map(({ kind }) => kind)).toEqual(['run', 'Initial']);
    expect(bed.engine.calls[0]?.aborted()).toBe('Rollback');
    expect(bed.engine.overlaps).toEqual([]);
    expect(bed.status('fix').run?.outcome).toBeUndefined();
  });

  it('Rollback waits as long as the run takes to end', async () => {
    await using bed = await running();
    let end = (): void => {};
    bed.engine.mayEnd = new Promise((resolve) => (end = resolve));
    await bed.assign('fix', { directive: 'Rollback' });
    await eventually('the run is aborted', () => bed.engine.calls[0]?.aborted() === 'Rollback');
    await bed.sandbox('other-1');
    await bed.task('other');
    await eventually('another task runs', () => bed.engine.calls.length === 2);
    expect(bed.engine.last?.context.task.metadata.name).toBe('other');
    end();
    await eventually('it is restored', () => bed.status('fix').run?.rollback !== undefined);
    expect(bed.engine.overlaps).toEqual([]);
  });

  it('Rollback is tried again when it fails', async () => {
    await using bed = await running();
    bed.engine.restored = [new Error('the disk is busy'), { snapshot: 's0001', verified: true }];
    await bed.assign('fix', { directive: 'Rollback' });
    await eventually('it is restored', () => bed.status('fix').run?.rollback?.snapshot === 's0001');
  });

  it('Stop: the outcome is Stopped, with or without a word of the engine', async () => {
    await using bed = await running();
    await bed.assign('fix', { directive: 'Stop' });
    await eventually('it is stopped', () => bed.status('fix').run?.outcome !== undefined);
    expect(bed.status('fix').run?.outcome?.result).toBe('Stopped');
    bed.engine.onStop = { result: 'Stopped', reason: 'Stopped', message: 'patch stored' };
    await bed.sandbox('two-1');
    await bed.task('two', { directive: 'Stop' });
    await eventually('the other is stopped', () => bed.status('two').run?.outcome?.message === 'patch stored');
    expect(outcomes(bed)).toHaveLength(1);
    expect(bed.engine.overlaps).toEqual([]);
  });

  it('Quiesce: aborts the run, ends what still runs in the sandbox, reports no outcome; continues under a new epoch', async () => {
    await using bed = await running();
    bed.engine.onOther = succeeded;
    bed.keeper.facts.running = '01J00000000000000000000000';
    await bed.assign('fix', { directive: 'Quiesce' });
    await eventually('the command is cancelled', () => bed.keeper.facts.running === null);
    expect(bed.engine.calls[0]?.aborted()).toBe('Quiesce');
    await bed.assign('fix', { epoch: 2, directive: 'Run' });
    await eventually('it goes on', () => bed.engine.calls.length === 2);
    expect(bed.engine.last?.context.assignment.epoch).toBe(2);
    expect(outcomes(bed)).toEqual([]);
  });
});

describe('a task of another worker', () => {
  it('a new epoch in mid-run: the old run is aborted and awaited, nothing more is written under its epoch', async () => {
    await using bed = await running();
    const [old] = bed.engine.calls;
    const last = { progress: { done: 8, total: 9 } };
    old?.context.signal.addEventListener('abort', () => old.context.report(last, { urgent: true }), { once: true });
    old?.context.report({ usage: { ...noUsage, toolCalls: 5, wallSeconds: 7 } }, { urgent: true });
    await eventually('usage is written', () => bed.status('fix').run?.usage?.toolCalls === 5);
    await bed.assign('fix', { epoch: 2 });
    await eventually('the new run begins', () => bed.engine.calls.length === 2);
    expect(old?.aborted()).toBe('Lost');
    expect(bed.engine.overlaps).toEqual([]);
    expect(bed.engine.last?.context.used.before).toMatchObject({ toolCalls: 5, wallSeconds: 7 });
    const count = bed.reports('fix').filter(({ epoch }) => epoch === 1).length;
    expect(bed.reports('fix')).not.toContainEqual(expect.objectContaining(last));
    old?.context.report({ progress: { done: 9, total: 9 } }, { urgent: true });
    bed.engine.last?.finish(succeeded);
    await eventually('the outcome is written', () => bed.status('fix').run?.outcome !== undefined);
    expect(bed.reports('fix').filter(({ epoch }) => epoch === 1)).toHaveLength(count);
    expect(bed.status('fix').run?.epoch).toBe(2);
  });

  it('deleted: the run is aborted, nothing is written', async () => {
    await using bed = await running();
    await bed.tasks.delete({ name: 'fix', namespace: 'team' });
    await eventually('the run is aborted', () => bed.engine.last?.aborted() === 'Lost');
    await bed.worker?.stop();
    expect(outcomes(bed)).toEqual([]);
  });

  it('assigned to another worker: the run is aborted, nothing is written', async () => {
    await using bed = await running();
    await bed.assign('fix', { epoch: 2, worker: 'worker-1' });
    await eventually('the run is aborted', () => bed.engine.last?.aborted() === 'Lost');
    await bed.worker?.stop();
    expect(bed.reports('fix').every(({ epoch }) => epoch === 1)).toBe(true);
    expect(outcomes(bed)).toEqual([]);
  });

  it('refused by the fence: the run is aborted and not begun again under this epoch', async () => {
    await using bed = await running();
    bed.server.onRequest = ({ verb, subresource }) =>
      verb === 'apply' && subresource === 'status' ? { kind: 'error', code: 404, reason: 'NotFound' } : undefined;
    bed.engine.last?.context.report({ progress: { done: 1, total: 1 } }, { urgent: true });
    await eventually('the run is aborted', () => bed.engine.last?.aborted() === 'Lost');
    bed.server.onRequest = undefined;
    await bed.assign('fix', { epoch: 2 });
    await eventually('it runs under the next epoch', () => bed.engine.calls.length === 2);
    expect(bed.engine.last?.context.assignment.epoch).toBe(2);
  });

  it('the keeper has a later epoch: nothing runs and nothing is reported', async () => {
    await using bed = await WorkerBed.open();
    bed.keeper.facts.epoch = 5;
    await bed.start();
    await bed.sandbox('fix-1');
    await bed.task('fix');
    await eventually('the keeper refused', () => bed.keeper.calls.length > 0);
    await bed.worker?.stop();
    expect(bed.engine.calls).toEqual([]);
    expect(bed.reports('fix')).toEqual([]);
  });

  it('the sandbox pod is deleted: the run is aborted, no outcome, and progress reports it', async () => {
    await using bed = await running();
    await bed.deletePod('fix-1');
    await eventually('progress says so', () => bed.status('fix').run?.progress?.message?.includes('is lost') === true);
    expect(bed.engine.last?.aborted()).toBe('Lost');
    expect(outcomes(bed)).toEqual([]);
  });
});

describe('a restart of the process', () => {
  it('hands over with no outcome, removes the Lease, and the next process continues under the same epoch', async () => {
    await using bed = await running();
    expect(bed.server.objects(leases).map(({ metadata }) => metadata)).toMatchObject([
      {
        name: 'worker-0',
        labels: { 'agentfleet.dev/component': 'worker', 'agentfleet.dev/pool': 'coding' },
        ownerReferences: [{ kind: 'Pod', name: 'worker-0', uid: bed.podUid }],
      },
    ]);
    await bed.worker?.stop();
    expect(bed.engine.calls[0]?.aborted()).toBe('Quiesce');
    expect(bed.server.objects(leases)).toEqual([]);
    expect(outcomes(bed)).toEqual([]);
    bed.engine = new ScriptedEngine();
    await bed.start();
    await eventually('the engine runs again', () => bed.engine.calls.length === 1);
    expect(bed.engine.last?.context.assignment.epoch).toBe(1);
  });

  it('does not run a task again that has its outcome already', async () => {
    await using bed = await running();
    bed.engine.last?.finish(succeeded);
    await eventually('the outcome is written', () => bed.status('fix').run?.outcome !== undefined);
    await bed.worker?.stop();
    await bed.start();
    await bed.sandbox('next-1');
    await bed.task('next');
    await eventually('the next task runs', () => bed.engine.calls.length === 2);
    expect(bed.engine.last?.context.task.metadata.name).toBe('next');
  });
});
