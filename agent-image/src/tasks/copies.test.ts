// Copies of a worker: what, when, and how they are reported.
import { describe, expect, it } from 'vitest';
import { brief, eventually, outcomes, running, succeeded, WorkerBed } from '../testing/bed.ts';

const checkpoints = (bed: WorkerBed): readonly string[] => bed.store.keys('.json');
const expires = (bed: WorkerBed, key = checkpoints(bed).at(-1)): unknown =>
  (JSON.parse(bed.store.objects.get(key ?? '')?.content.toString() ?? '{}') as { expires?: unknown }).expires;

describe('Quiesce', () => {
  it('keeps the tree as a snapshot, copies it, and then reports that the work rests', async () => {
    await using bed = await running();
    bed.engine.onOther = succeeded;
    await bed.assign('fix', { epoch: 1, directive: 'Quiesce' });
    await eventually('it rests', () => bed.status('fix').run?.quiescedAt !== undefined);
    const run = bed.status('fix').run;
    expect(bed.keeper.facts.snapshots).toHaveLength(1);
    expect(run?.snapshots?.checkpointURI).toBe(`memory://${checkpoints(bed).at(-1) ?? ''}`);
    const first = bed.reports('fix').findIndex(({ quiescedAt }) => quiescedAt !== undefined);
    expect(bed.reports('fix')[first]?.snapshots?.checkpointURI).toBe(run?.snapshots?.checkpointURI);
    expect(outcomes(bed)).toEqual([]);
  });

  it('is not reported as done while the store is unavailable, and is when it returns', async () => {
    await using bed = await running();
    bed.engine.onOther = succeeded;
    bed.store.goAway();
    await bed.assign('fix', { directive: 'Quiesce' });
    await eventually('it says why', () => bed.status('fix').run?.progress?.message?.startsWith('not at rest yet') === true);
    expect(bed.reports('fix').every(({ quiescedAt }) => quiescedAt === undefined)).toBe(true);
    bed.store.comeBack();
    await eventually('it rests', () => bed.status('fix').run?.quiescedAt !== undefined);
  });

  it('is over with the next Run: no report under it has the work at rest', async () => {
    await using bed = await running();
    bed.engine.onOther = succeeded;
    await bed.assign('fix', { directive: 'Quiesce' });
    await eventually('it rests', () => bed.status('fix').run?.quiescedAt !== undefined);
    await bed.assign('fix', { epoch: 2, directive: 'Run' });
    await eventually('it runs again', () => bed.engine.calls.length === 2);
    bed.engine.last?.context.report({ progress: { done: 1, total: 2 } }, { urgent: true });
    await eventually('it reports', () => bed.status('fix').run?.epoch === 2);
    expect(bed.reports('fix').filter(({ epoch, quiescedAt }) => epoch === 2 && quiescedAt !== undefined)).toEqual([]);
    expect(bed.status('fix').run?.snapshots?.checkpointURI).toBeDefined();
  });
});

describe('the end of an attempt', () => {
  it('is copied before it is reported, and every summary of snapshots names the copy', async () => {
    await using bed = await running();
    bed.engine.last?.finish(succeeded);
    await eventually('the outcome is written', () => bed.status('fix').run?.outcome !== undefined);
    const [reported] = bed.reports('fix').filter(({ outcome }) => outcome !== undefined);
    expect(reported?.snapshots?.checkpointURI).toBe(`memory://${checkpoints(bed)[0] ?? ''}`);
    expect(reported?.auditRoot).toBe('ab'.repeat(32));
  });

  it('keeps the head of the log that its trace ends with, though the log went on before it was copied', async () => {
    await using bed = await running();
    const artifacts = [{ name: 'trace.ndjson', uri: 'memory://trace.ndjson', sha256: 'ef'.repeat(32), bytes: 1 }];
    bed.engine.last?.context.report({ auditRoot: 'cd'.repeat(32), artifacts });
    bed.engine.last?.finish(succeeded);
    await eventually('the outcome is written', () => bed.status('fix').run?.outcome !== undefined);
    expect(bed.status('fix').run).toMatchObject({ auditRoot: 'cd'.repeat(32), artifacts });
    expect(bed.status('fix').run?.snapshots?.checkpointURI).toBe(`memory://${checkpoints(bed).at(-1) ?? ''}`);
  });

  it('has the expiry of the copy; one of an active task does not', async () => {
    await using bed = await running();
    bed.engine.onOther = succeeded;
    await bed.assign('fix', { directive: 'Quiesce' });
    await eventually('it rests', () => bed.status('fix').run?.quiescedAt !== undefined);
    expect(expires(bed)).toBeNull();
    bed.store.objects.clear();
    for (const [name, end, ms] of [
      ['a', (): void => bed.engine.last?.finish(succeeded), 604_800_000],
      // Another attempt may follow until the deadline of an hour, and needs it.
      ['b', (): void => void bed.assign('b', { directive: 'Stop' }), 604_800_000 + 3_600_000],
    ] as const) {
      await bed.sandbox(`${name}-1`);
      await bed.task(name);
      await eventually(`${name} runs`, () => bed.engine.last?.context.task.metadata.name === name);
      end();
      await eventually(`${name} has ended`, () => bed.status(name).run?.outcome !== undefined);
      const left = Date.parse(String(expires(bed))) - Date.now();
      expect(Math.abs(left - ms)).toBeLessThan(600_000);
      bed.store.objects.clear();
    }
  });

  it('sweeps: a task that was cancelled while it rested has a copy that expires, one that still rests has not', async () => {
    await using bed = await running();
    bed.engine.onOther = succeeded;
    for (const name of ['fix', 'rests']) {
      if (name !== 'fix') {
        await bed.sandbox(`${name}-1`);
        await bed.task(name);
      }
      await bed.assign(name, { directive: 'Quiesce' });
      await eventually(`${name} is at rest`, () => bed.status(name).run?.quiescedAt !== undefined);
    }
    const expiry = (name: string): unknown => expires(bed, bed.status(name).run?.snapshots?.checkpointURI?.slice('memory://'.length) ?? '');
    expect([expiry('fix'), expiry('rests')]).toEqual([null, null]);
    await bed.tasks.patch({ name: 'fix', namespace: 'team' }, { status: { finished: 'true' } }, { subresource: 'status' });
    await bed.sandbox('last-1');
    await bed.task('last');
    await eventually('the last one runs', () => bed.engine.last?.context.task.metadata.name === 'last');
    bed.engine.last?.finish(succeeded);
    await eventually('the store is swept', () => expiry('fix') !== null);
    expect(expiry('fix')).toBe(new Date(bed.store.now + 604_800_000).toISOString());
    expect(expiry('rests')).toBeNull();
  });

  it('sweeps what has outlived the bound of the pool: also where no task of the pool is left, not where tasks cannot be listed', async () => {
    await using bed = await WorkerBed.open();
    await bed.writeBrief(JSON.stringify({ ...brief, namespaces: ['late', 'team'], maxRetentionSeconds: 3600 }));
    await bed.start();
    const patch = (namespace: string): string => `${namespace}/old/uid/1/change.patch`;
    const namespaces = ['gone', 'late', 'team'];
    for (const namespace of namespaces) {
      await bed.store.put(`.tasks/pool-uid/${namespace}/old/uid`, '');
      await bed.store.put(patch(namespace), 'x');
    }
    bed.store.now += 4_000_000;
    bed.server.onRequest = ({ verb, namespace }) =>
      verb === 'list' && namespace !== 'team' ? { kind: 'error', code: 403, reason: 'Forbidden' } : undefined;
    await bed.sandbox('fix-1');
    await bed.task('fix');
    await eventually('the engine runs', () => bed.engine.calls.length === 1);
    bed.engine.last?.finish(succeeded);
    await eventually('the store is swept', () => !bed.store.objects.has(patch('gone')) && !bed.store.objects.has(patch('team')));
    expect(bed.store.objects.has(patch('late'))).toBe(true);
    expect(Math.abs(Date.parse(String(expires(bed))) - Date.now() - 3_600_000)).toBeLessThan(600_000);
    expect(bed.store.keys('.tasks/').some((key) => key.startsWith('.tasks/pool-uid/team/fix/'))).toBe(true);
  });

  it('is reported also when it cannot be copied', async () => {
    await using bed = await running();
    bed.store.goAway();
    bed.engine.last?.finish(succeeded);
    await eventually('the outcome is written', () => bed.status('fix').run?.outcome !== undefined);
    expect(outcomes(bed)[0]).toEqual(succeeded);
  });

  it('of a task whose checkpoint is gone is a failure of the infrastructure, with a reason', async () => {
    await using bed = await WorkerBed.open();
    await bed.start();
    await bed.sandbox('fix-1');
    bed.keeper.facts.fresh = true;
    await bed.task('fix', { worker: 'nobody' });
    await bed.report('fix', { attempt: 1, epoch: 1, snapshots: { checkpointURI: 'memory://checkpoints/x.json' } });
    await bed.assign('fix', { epoch: 2 });
    await eventually('the outcome is written', () => bed.status('fix').run?.outcome !== undefined);
    expect(bed.status('fix').run?.outcome).toMatchObject({ result: 'Failed', class: 'Infrastructure', reason: 'CheckpointMissing' });
    expect(bed.engine.calls).toEqual([]);
  });
});

describe('acts', () => {
  it('wait for their intent to be in the store', async () => {
    await using bed = await running();
    const before = bed.store.keys('/log/').length;
    await bed.engine.last?.context.intentDurable();
    expect(bed.store.keys('/log/').length).toBeGreaterThan(before);
    expect(bed.store.keys('/log/')[0]).toMatch(/^checkpoints\/team\/[^/]+\/log\//);
  });
});
