import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLog, type Clock } from '@agentfleet/kube';
import { maxPartBytes, partHeader } from '@agentfleet/protocol/keeper';
import { createHash } from 'node:crypto';
import { createSealer } from './seal.ts';
import { PackShelf } from './shelf.ts';
import type { ActiveTasks } from './retention.ts';
import { graceMs, Sweeper, sweep } from './sweep.ts';
import type { ArtifactStore } from '../store/index.ts';
import type { MemoryStore } from './testing/memoryStore.ts';
import { DurableBench, live, noise, signal, task, tree } from './testing/bench.ts';

let bench: DurableBench;

beforeEach(() => {
  bench = new DurableBench();
});
afterEach(() => bench[Symbol.asyncDispose]());

const clockOf = (store: MemoryStore): Clock => ({ now: () => store.now, monotonic: () => 0, after: () => ({ cancel: () => undefined }) });

/** A sweep after so many hours of the store. */
function swept(hours: number, active?: ActiveTasks, mostSeconds?: number): ReturnType<typeof sweep> {
  bench.store.now += hours * graceMs;
  return sweep({ store: bench.store, log: silentLog, worker: 'worker-0', active, mostSeconds }, signal);
}

/** A store that lets something happen between the first listing of checkpoints and the first look into one. */
function replacedWhileRead(store: MemoryStore, meanwhile: () => Promise<void>): ArtifactStore {
  let waits = true;
  return {
    put: (key, content) => store.put(key, content),
    list: (prefix) => store.list(prefix),
    entries: (prefix) => store.entries(prefix),
    remove: (keys) => store.remove(keys),
    get: async (key) => {
      if (waits) await meanwhile();
      waits = false;
      return store.get(key);
    },
  };
}

const pack = (content: string): Buffer => {
  const bytes = Buffer.from(content);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return Buffer.concat([partHeader({ sha256, size: bytes.length, offset: 0, length: bytes.length }), bytes]);
};
/** A task with a checkpoint and a file of several parts. */
async function withLargeFile() {
  const keeper = await bench.keeper();
  await live(keeper, { large: noise(17_000_000) });
  const worker = bench.worker();
  await worker.attach(keeper.client(), signal);
  await worker.checkpoint(signal);
  return { keeper, before: tree(keeper) };
}

const shelf = (): PackShelf => new PackShelf(bench.store, createSealer(null), clockOf(bench.store));

describe('a store with the copies of many tasks', () => {
  it('is not listed as a whole for each checkpoint', async () => {
    await bench.lost();
    expect(bench.store.keys('.json')).toHaveLength(2);
    expect(bench.store.calls.filter((call) => call === 'list packs/')).toHaveLength(1);
  });

  it('still knows what one task stored while another one listed it', async () => {
    const store: ArtifactStore = {
      put: (key, content) => bench.store.put(key, content),
      get: (key) => bench.store.get(key),
      list: (prefix) => bench.store.list(prefix),
      remove: (keys) => bench.store.remove(keys),
      entries: async (prefix) => {
        const found = await bench.store.entries(prefix);
        if (prefix === 'packs/') await shared.put(pack('meanwhile'), signal);
        return found;
      },
    };
    const shared = new PackShelf(store, createSealer(null), clockOf(bench.store));
    await shared.refresh(signal);
    expect(shared.holders({ sha256: createHash('sha256').update('meanwhile').digest('hex'), size: 9 })).toHaveLength(1);
  });

  it('gives back files that are larger than a pack, whatever the list of another task forgets meanwhile', async () => {
    const { keeper: old, before } = await withLargeFile();
    bench.store.now += 1;
    const others = shelf();
    for (let at = 0; at < 1024; at += 1) await others.put(pack(`newer ${at}`), signal);
    const store: ArtifactStore = {
      put: (key, content) => bench.store.put(key, content),
      list: (prefix) => bench.store.list(prefix),
      entries: (prefix) => bench.store.entries(prefix),
      remove: (keys) => bench.store.remove(keys),
      get: async (key) => {
        if (key.endsWith('.pack')) await shared.refresh(signal);
        return bench.store.get(key);
      },
    };
    const shared = new PackShelf(store, createSealer(null), clockOf(bench.store));
    const keeper = await bench.keeper();
    const worker = bench.worker({ store, shelf: () => Promise.resolve(shared), epoch: 2, reported: bench.reported });
    await worker.attach(keeper.client(2), signal);
    expect(tree(keeper)).toEqual(before);
    expect(tree(old)).toEqual(before);
  });

  it('is known as far as the newest packs hold so many parts together', async () => {
    const stored = shelf();
    const names = ['a', 'b', 'c'].map((word) => Buffer.concat([pack(word), pack(`${word}${word}`)]));
    for (const parts of names) {
      await stored.put(parts, signal);
      bench.store.now += 1;
    }
    const bounded = new PackShelf(bench.store, createSealer(null), clockOf(bench.store), 5);
    await bounded.refresh(signal);
    const known = ['a', 'bb', 'cc'].map(
      (word) => bounded.holders({ sha256: createHash('sha256').update(word).digest('hex'), size: word.length })?.length,
    );
    expect(known).toEqual([undefined, 1, 1]);
  });

  it('is swept by one of its workers, and by another one when that is due again', async () => {
    const sweeps = async (worker: string): Promise<number> => {
      await new Sweeper({ worker, clock: clockOf(bench.store), log: silentLog }).taskEnded(bench.store);
      return bench.store.calls.filter((call) => call === 'list checkpoints/').length;
    };
    expect([await sweeps('worker-0'), await sweeps('worker-1')]).toEqual([1, 1]);
    bench.store.now += 2 * graceMs;
    expect(await sweeps('worker-1')).toBe(2);
  });
});

describe('a sweep', () => {
  it('removes blobs that no checkpoint names, in two steps with time between them', async () => {
    const { before } = await bench.lost();
    const named = bench.store.keys('packs/');
    const name = await shelf().put(pack('nobody'), signal);
    expect(await swept(0.5)).toMatchObject({ doomed: 0, removed: 0 });
    expect(await swept(1)).toMatchObject({ doomed: 1, removed: 0 });
    expect(await swept(0.5)).toMatchObject({ doomed: 0, removed: 0 });
    expect(bench.store.keys(name)).toHaveLength(3);
    expect(await swept(1)).toMatchObject({ removed: 1 });
    expect(bench.store.keys('packs/')).toEqual(named);
    expect(bench.store.keys('doomed/')).toEqual([]);
    const next = await bench.elsewhere();
    await next.attach();
    expect(tree(next.keeper)).toEqual(before);
  });

  it('leaves marked blobs when a checkpoint that was being written names them', async () => {
    const { old } = await bench.lost();
    const kept = [...bench.store.objects].filter(([key]) => key.startsWith('checkpoints/'));
    for (const [key] of kept) bench.store.objects.delete(key);
    expect((await swept(1.5)).doomed).toBeGreaterThan(0);
    for (const [key, object] of kept) bench.store.objects.set(key, object);
    expect(await swept(2)).toMatchObject({ removed: 0 });
    expect(bench.store.keys('doomed/')).toEqual([]);
    const next = await bench.elsewhere();
    await next.attach();
    expect(tree(next.keeper)).toEqual(tree(old));
  });

  it('is known by hash and size: a part that lies about the size hides nothing', async () => {
    const one = shelf();
    const bytes = Buffer.from('shared');
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const lie = { sha256, size: 3 * maxPartBytes, offset: 0, length: bytes.length };
    await one.put(Buffer.concat([partHeader(lie), bytes]), signal);
    expect(one.holders({ sha256, size: bytes.length })).toBeUndefined();
    await one.put(pack('shared'), signal);
    expect(one.holders({ sha256, size: bytes.length })).toHaveLength(1);
  });

  it('is not relied on: marked content is stored again under a new name', async () => {
    await bench.lost();
    const name = await shelf().put(pack('nobody'), signal);
    await swept(1.5);
    const other = shelf();
    await other.refresh(signal);
    const sha256 = createHash('sha256').update('nobody').digest('hex');
    expect(other.holders({ sha256, size: 6 })).toBeUndefined();
    const again = await other.put(pack('nobody'), signal);
    expect(again).not.toBe(name);
    await swept(1.5);
    expect(bench.store.keys(`${name}.`)).toEqual([]);
    expect(await other.get(again, signal)).toEqual(pack('nobody'));
  });

  it('leaves a marked pack that was put again since', async () => {
    await bench.lost();
    const name = await shelf().put(pack('nobody'), signal);
    await swept(1.5);
    bench.store.now += graceMs / 2;
    await shelf().put(pack('nobody'), signal);
    expect(await swept(1)).toMatchObject({ removed: 0 });
    expect(bench.store.keys(`${name}.pack`)).toHaveLength(1);
  });

  it('removes nothing when a checkpoint cannot be read', async () => {
    await bench.lost();
    await shelf().put(pack('nobody'), signal);
    await swept(1.5);
    bench.store.objects.set('checkpoints/other/uid/00000000010000.json', { content: Buffer.from('{'), modifiedAt: 0 });
    await expect(swept(3)).rejects.toMatchObject({ code: 'Damaged' });
    expect(bench.store.calls.filter((call) => call.startsWith('remove') && call.includes('packs/'))).toEqual([]);
  });

  it('removes nothing that a checkpoint names which was written while it read the others', async () => {
    const { old, worker } = await bench.lost();
    await swept(1.5);
    const late = new Set(bench.store.keys('packs/'));
    await worker.checkpoint(signal);
    // Marked by two sweeps, each of which saw only checkpoints that were replaced before it read them.
    for (const hours of [1.5, 1.5]) {
      const slow = replacedWhileRead(bench.store, async () => {
        for (const more of ['one', 'two']) {
          await old.client().note('More', { more });
          await worker.checkpoint(signal);
        }
      });
      bench.store.now += hours * graceMs;
      await sweep({ store: slow, log: silentLog, worker: 'worker-0' }, signal);
    }
    expect(bench.store.keys('packs/').filter((key) => late.has(key))).toEqual([...late]);
    expect(bench.store.keys('doomed/')).toEqual([]);
    const next = await bench.elsewhere();
    await next.attach();
    expect(tree(next.keeper)).toEqual(tree(old));
  });

  it('removes the checkpoints of a task that has expired, and then its packs', async () => {
    const old = await bench.keeper();
    const { worker } = await bench.lost();
    const second = bench.worker({ task: { ...task, uid: 'second' } });
    await second.attach(old.client(), signal);
    await second.checkpoint(signal);
    await worker.checkpoint(signal, 1000);
    bench.store.now = Date.now();
    expect(await swept(1)).toMatchObject({ removedTasks: 1 });
    expect(bench.store.keys('checkpoints/').every((key) => key.includes('/second/'))).toBe(true);
    await swept(2);
    await swept(2);
    expect(bench.store.keys('.pack')).toEqual([]);
  });

  const named = { pool: 'pool-1', keepSeconds: 3600 };
  const active = (uids: readonly string[] | undefined, pool = 'pool-1'): ActiveTasks => ({
    pool,
    list: (namespace) => Promise.resolve(namespace === task.namespace && uids !== undefined ? new Set(uids) : undefined),
  });

  it.each<{ what: string; named?: typeof named; active?: ActiveTasks; removed: number }>([
    { what: 'of a task that is not active any more', named, active: active([]), removed: 1 },
    { what: 'of an active task', named, active: active([task.uid]), removed: 0 },
    { what: 'of a task of another cluster', named, active: active([], 'pool-2'), removed: 0 },
    { what: 'of a namespace that cannot be listed', named, active: active(undefined), removed: 0 },
    { what: 'that does not name its pool', active: active([]), removed: 0 },
    { what: 'by a worker that does not know its pool', named, removed: 0 },
  ])('lets the checkpoints $what expire when they have been kept for long enough: $removed', async (row) => {
    const old = await bench.keeper();
    await live(old);
    const worker = bench.worker({ active: row.named });
    await worker.attach(old.client(), signal);
    await worker.checkpoint(signal);
    bench.store.now = Date.now();
    const before = bench.store.keys('checkpoints/');
    expect(await swept(1, row.active)).toMatchObject({ removedTasks: 0 });
    expect(bench.store.keys('checkpoints/')).toEqual(before);
    expect(await swept(0.5, row.active)).toMatchObject({ removedTasks: 0 });
    expect(await swept(1, row.active)).toMatchObject({ removedTasks: row.removed });
  });

  const artifact = `${task.namespace}/${task.name}/${task.uid}/1/change.patch`;
  const others = ['team/fix/other/1/change.patch', 'team/fix/0b1c-2/1/change.patch', 'doomed/fix/uid/1/change.patch'];

  it.each<{ what: string; active?: ActiveTasks; pool?: string; mostSeconds?: number; gone: boolean }>([
    { what: 'of a task that is not active any more', active: active([]), mostSeconds: 7200, gone: true },
    { what: 'of an active task', active: active([task.uid]), mostSeconds: 7200, gone: false },
    { what: 'of a task of another pool', active: active([]), pool: 'pool-2', mostSeconds: 7200, gone: false },
    { what: 'of a namespace that cannot be listed', active: active(undefined), mostSeconds: 7200, gone: false },
    { what: 'of a pool without a bound', active: active([]), gone: false },
    { what: 'by a worker that does not know its pool', mostSeconds: 7200, gone: false },
  ])('removes all that is kept $what when the bound of the pool is over: $gone', async (row) => {
    const old = await bench.keeper();
    await live(old);
    const worker = bench.worker({ active: { pool: row.pool ?? 'pool-1', keepSeconds: 365 * 86_400 } });
    await worker.attach(old.client(), signal);
    for (const key of [artifact, ...others]) await bench.store.put(key, 'x');
    await worker.checkpoint(signal);
    bench.store.now += 3 * graceMs;
    await worker.checkpoint(signal, 365 * 86_400_000);
    const kept = (): boolean[] => [artifact, 'checkpoints/'].map((part) => bench.store.keys(part).length > 0);
    expect(await swept(1.5, row.active, row.mostSeconds)).toMatchObject({ outlived: 0 });
    expect(kept()).toEqual([true, true]);
    expect(await swept(1, row.active, row.mostSeconds)).toMatchObject({ outlived: row.gone ? 1 : 0 });
    expect(kept()).toEqual([!row.gone, !row.gone]);
    expect(others.filter((key) => !bench.store.objects.has(key))).toEqual([]);
    expect(await swept(1, row.active, row.mostSeconds)).toMatchObject({ outlived: 0 });
  });

  it('counts the time of the bound from when it last saw the task active', async () => {
    const old = await bench.keeper();
    const worker = bench.worker({ active: { pool: 'pool-1', keepSeconds: 365 * 86_400 } });
    await worker.attach(old.client(), signal);
    await worker.checkpoint(signal);
    await bench.store.put(artifact, 'x');
    await swept(5, active([task.uid]), 7200);
    expect(await swept(1.5, active([]), 7200)).toMatchObject({ outlived: 0 });
    expect(await swept(1, active([]), 7200)).toMatchObject({ outlived: 1 });
  });

  it('goes on with a task whose removal was cut off, and is not kept from it by a checkpoint that cannot be read', async () => {
    const old = await bench.keeper();
    const worker = bench.worker({ active: { pool: 'pool-1', keepSeconds: 365 * 86_400 } });
    await worker.attach(old.client(), signal);
    await worker.checkpoint(signal);
    await bench.store.put(artifact, 'x');
    bench.store.objects.set('checkpoints/other/uid/00000000010000.json', { content: Buffer.from('{'), modifiedAt: 0 });
    bench.store.before = (call) => {
      if (call.startsWith('remove checkpoints/')) throw new Error('cut off');
    };
    await expect(swept(3, active([]), 7200)).rejects.toThrow('cut off');
    bench.store.comeBack();
    await expect(swept(0, active([]), 7200)).rejects.toMatchObject({ code: 'Damaged' });
    expect(bench.store.keys(task.uid)).toEqual([]);
  });

  it('keeps what has not expired, also by a worker whose clock is ahead', async () => {
    const { worker } = await bench.lost();
    await worker.checkpoint(signal, 7 * 86_400_000);
    bench.store.now = Date.now();
    const clock: Clock = { ...clockOf(bench.store), now: () => bench.store.now + 30 * 86_400_000 };
    await new Sweeper({ worker: 'worker-0', clock, log: silentLog }).taskEnded(bench.store);
    expect(bench.store.keys('checkpoints/')).not.toEqual([]);
  });
});
