import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DurableBench, live, noise, notes, records, signal, task, tree } from './testing/bench.ts';

let bench: DurableBench;

beforeEach(() => {
  bench = new DurableBench();
});
afterEach(() => bench[Symbol.asyncDispose]());

describe('a task continues in another sandbox', () => {
  it('with its snapshots, its log and the newest tree, verified', async () => {
    const { before, snapshots } = await bench.lost();
    const next = await bench.elsewhere();
    await next.attach();
    expect(tree(next.keeper)).toEqual(before);
    expect(await next.keeper.client(2).snapshots()).toEqual(snapshots);
    expect((await next.keeper.client(2).audit()).ok).toBe(true);
    const log = await records(next.keeper, 2);
    expect(notes(log, 'Recovered')).toMatchObject([{ checkpoint: bench.newest(), passedOver: [] }]);
    expect(notes(log, 'AuditGap')).toEqual([]);
    expect(bench.gaps).toBe(0);
    // It continues with its own checkpoints, in its own epoch.
    await next.worker.checkpoint(signal);
    const third = await bench.keeper();
    await bench.worker({ epoch: 3, reported: bench.reported }).attach(third.client(3), signal);
    expect(tree(third)).toEqual(before);
    expect(notes(await records(third, 3), 'Recovered')).toHaveLength(2);
  });

  it('with the log records after the checkpoint', async () => {
    const { old, worker } = await bench.lost();
    await old.client().note('Tried', { attempt: 1, id: 'later' });
    await worker.intent(signal);
    const next = await bench.elsewhere();
    await next.attach();
    expect(notes(await records(next.keeper, 2), 'Tried')).toEqual([{ attempt: 1, id: 'later' }]);
  });

  it('with what an act was begun by, where no checkpoint was due before it', async () => {
    const old = await bench.keeper();
    await live(old);
    const worker = bench.worker();
    await worker.attach(old.client(), signal);
    await old.client().note('Intent', { attempt: 1, command: 'git push' });
    await worker.intent(signal);
    const stored = bench.store.keys('.json').length;
    await old.client().note('Intent', { attempt: 1, command: 'git push again' });
    await worker.intent(signal);
    expect([stored, bench.store.keys('.json').length]).toEqual([1, 1]);
    const next = await bench.elsewhere();
    await next.attach();
    expect(notes(await records(next.keeper, 2), 'Intent')).toMatchObject([{ command: 'git push' }, { command: 'git push again' }]);
  });

  it('and reports it when the log is older than the one that was reported', async () => {
    const { old } = await bench.lost();
    await old.client().note('Tried', { attempt: 1 });
    const { root } = (await old.client().info()).audit;
    const keeper = await bench.keeper();
    await bench.worker({ epoch: 2, reported: { ...bench.reported, auditRoot: root } }).attach(keeper.client(2), signal);
    expect(notes(await records(keeper, 2), 'AuditGap')).toMatchObject([{ expected: root }]);
    expect(bench.gaps).toBe(1);
  });

  it('on the branch of the newer assignment when an older worker went on with a keeper that was cut off', async () => {
    const { old, worker } = await bench.lost();
    const next = await bench.elsewhere();
    await next.attach();
    await next.keeper.client(2).note('Branch', { of: 2 });
    await next.worker.intent(signal);
    for (let more = 0; more < 40; more += 1) await old.client().note('Branch', { of: 1 });
    await worker.intent(signal);
    await worker.checkpoint(signal);
    const third = await bench.keeper();
    await bench.worker({ epoch: 3, reported: bench.reported }).attach(third.client(3), signal);
    // The older worker's checkpoint has a lower number; without one of the newer assignment its own log would be all there is.
    expect((await third.client(3).audit()).ok).toBe(true);
    const before = new Set(bench.store.keys(''));
    await next.worker.checkpoint(signal);
    const newer = bench.store.keys('').filter((key) => !before.has(key));
    expect(newer.some((key) => key.endsWith('.json'))).toBe(true);
    for (let more = 0; more < 3; more += 1) {
      await old.client().note('Branch', { of: 1 });
      await worker.checkpoint(signal).catch(() => undefined);
    }
    // It keeps two checkpoints and what they name, and takes none of these for its own old ones.
    expect(bench.store.keys('')).toEqual(expect.arrayContaining(newer));
    const fourth = await bench.keeper();
    await bench.worker({ epoch: 4, reported: bench.reported }).attach(fourth.client(4), signal);
    expect(notes(await records(fourth, 4), 'Branch')).toEqual([{ of: 2 }]);
  });

  it('restores an adoption that was not restored when the worker before it died', async () => {
    const { before } = await bench.lost();
    const next = await bench.elsewhere();
    const client = next.keeper.client(2);
    const restore = client.restore.bind(client);
    client.restore = () => Promise.reject(new Error('killed'));
    await expect(next.attach()).rejects.toThrow('killed');
    client.restore = restore;
    await bench.worker({ epoch: 3, reported: bench.reported }).attach(next.keeper.client(3), signal);
    expect(tree(next.keeper)).toEqual(before);
  });

  it.each([
    ['before the restore', 'restore'],
    ['before it could note what it had done', 'note'],
  ] as const)('and notes once where it came from and what is lost, though a worker died %s', async (_, step) => {
    const { old } = await bench.lost();
    const from = bench.newest();
    await old.client().note('Tried', { attempt: 1 });
    const { root } = (await old.client().info()).audit;
    const keeper = await bench.keeper();
    const reported = { ...bench.reported, auditRoot: root };
    const dying = keeper.client(2);
    Object.assign(dying, { [step]: () => Promise.reject(new Error('killed')) });
    await expect(bench.worker({ epoch: 2, reported }).attach(dying, signal)).rejects.toThrow('killed');
    for (const epoch of [3, 4]) await bench.worker({ epoch, reported }).attach(keeper.client(epoch), signal);
    const log = await records(keeper, 4);
    expect(notes(log, 'Recovered')).toMatchObject([{ checkpoint: from }]);
    expect(notes(log, 'AuditGap')).toMatchObject([{ expected: root }]);
    expect(bench.gaps).toBe(1);
    expect(tree(keeper)).toEqual(tree(old));
  });

  it('and reports once that the log of an existing sandbox lacks reported records', async () => {
    const { old } = await bench.lost();
    const reported = { ...bench.reported, auditRoot: 'ab'.repeat(32) };
    for (const epoch of [2, 3]) await bench.worker({ epoch, reported }).attach(old.client(epoch), signal);
    await bench.worker({ epoch: 4, reported: bench.reported }).attach(old.client(4), signal);
    expect(notes(await records(old, 4), 'AuditGap')).toMatchObject([{ expected: 'ab'.repeat(32) }]);
    expect(bench.gaps).toBe(1);
  });

  it('leaves a keeper alone that knows the task, and one of a task that never had a checkpoint', async () => {
    const { old } = await bench.lost();
    writeFileSync(join(old.workspace, 'later'), 'x');
    const before = tree(old);
    await bench.worker({ epoch: 2, reported: bench.reported }).attach(old.client(2), signal);
    expect(tree(old)).toEqual(before);
    const keeper = await bench.keeper();
    await bench.worker({ epoch: 4, task: { ...task, uid: 'other' } }).attach(keeper.client(4), signal);
    expect(await keeper.client(4).snapshots()).toEqual([]);
  });

  it('with files that are larger than a pack, and with holes', { timeout: 240_000 }, async () => {
    const old = await bench.keeper();
    await live(old, { large: noise(37_000_001), zeros: Buffer.alloc(20_000_000) });
    const worker = bench.worker();
    await worker.attach(old.client(), signal);
    await worker.checkpoint(signal);
    const next = await bench.elsewhere();
    await next.attach();
    expect(tree(next.keeper)).toEqual(tree(old));
  });
});

describe('the content of the store', () => {
  it('once for all tasks of the pool: a second task with the same files sends no contents', async () => {
    await bench.lost();
    const packs = bench.store.puts('.pack').length;
    expect(packs).toBeGreaterThan(0);
    const other = await bench.keeper();
    await live(other);
    const worker = bench.worker({ task: { ...task, uid: 'second' } });
    await worker.attach(other.client(), signal);
    await worker.checkpoint(signal);
    expect(bench.store.puts('.pack')).toHaveLength(packs);
    const next = await bench.keeper();
    await bench.worker({ task: { ...task, uid: 'second' }, epoch: 2, reported: bench.reported }).attach(next.client(2), signal);
    expect(tree(next)).toEqual(tree(other));
  });

  it('nothing when nothing changed, and the log alone when only it has', async () => {
    const { old, worker } = await bench.lost();
    const calls = bench.store.calls.length;
    expect(await worker.checkpoint(signal)).toMatchObject({ fresh: false, uri: `memory://${bench.newest()}` });
    expect(bench.store.calls.slice(calls)).toEqual([]);
    expect(bench.written).toHaveLength(2);
    await old.client().takeSnapshot('the same tree');
    await worker.checkpoint(signal);
    expect(bench.store.calls.slice(calls).filter((call) => call.startsWith('put packs/'))).toEqual([]);
  });

  it('nothing again by a worker that takes the task over in the same sandbox', async () => {
    const { old } = await bench.lost();
    const calls = bench.store.calls.length;
    const worker = bench.worker({ epoch: 2, reported: bench.reported });
    await worker.attach(old.client(2), signal);
    await worker.checkpoint(signal);
    expect(bench.store.calls.slice(calls).filter((call) => call.startsWith('put packs/'))).toEqual([]);
  });

  it('two checkpoints of a task, and the files of the log that these name', async () => {
    const { old, worker } = await bench.lost();
    for (let round = 0; round < 4; round += 1) {
      for (let step = 0; step < 10; step += 1) {
        await old.client().note('Step', { round, step });
        await worker.intent(signal);
      }
      await worker.checkpoint(signal);
      expect(bench.store.keys('.json')).toHaveLength(2);
    }
    expect(bench.store.keys('/log/').length).toBeLessThan(40);
    const next = await bench.elsewhere();
    await next.attach();
    expect(notes(await records(next.keeper, 2), 'Step')).toHaveLength(40);
  });

  it('reveals nothing by names and contents when the pool has a key, and is still stored once', async () => {
    bench.key = noise(32);
    const { before } = await bench.lost();
    const stored = [...bench.store.objects].map(([key, { content }]) => key + content.toString('latin1')).join('');
    for (const word of ['quick brown fox', 'a.py', 'initial', 'SnapshotTaken']) expect(stored).not.toContain(word);
    const packs = bench.store.puts('.pack').length;
    const other = await bench.keeper();
    await live(other);
    const worker = bench.worker({ task: { ...task, uid: 'second' } });
    await worker.attach(other.client(), signal);
    await worker.checkpoint(signal);
    expect(bench.store.puts('.pack')).toHaveLength(packs);
    const next = await bench.keeper();
    const mine = bench.written.at(1);
    await bench.worker({ epoch: 2, reported: { checkpointURI: mine?.uri ?? '' } }).attach(next.client(2), signal);
    expect(tree(next)).toEqual(before);
  });
});
