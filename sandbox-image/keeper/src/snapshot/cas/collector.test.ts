import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CollectIntent, CollectReport, Retention } from './collector.ts';
import { Harness } from '../testing/harness.ts';

let h: Harness;
beforeEach(() => {
  h = new Harness();
});
afterEach(() => h.dispose());

const keep = (newest: number, more: Partial<Retention> = {}): { retention: Retention } => ({
  retention: { newest, labels: ['empty', 'initial'], slack: Number.POSITIVE_INFINITY, ...more },
});

function write(name: string, content: string): void {
  fs.writeFileSync(join(h.workspace, name), content);
}

function storeBytes(): number {
  return Number(execFileSync('du', ['-sb', join(h.storeDir, 'segments')], { encoding: 'utf8' }).split('\t')[0]);
}

const big = (salt: number): string => `${salt}-`.repeat(20_000);

describe('retention', () => {
  test('the labelled, the newest, the protected and the one that the tree is at', async () => {
    const engine = await h.engine(keep(2, { protectedIds: () => Promise.resolve(['s0003']) }));
    await engine.collect();
    const digests = new Map<string, string>();
    for (let step = 1; step <= 8; step++) {
      write('a', big(step));
      const label = step === 1 ? { label: 'initial' } : { label: `before ${step}` };
      const { id, manifestDigest } = await engine.take(step === 6 ? {} : label);
      digests.set(id, manifestDigest);
      if (step === 7) await engine.restore('s0005');
    }
    await engine.restore('s0005');
    const { removed, kept, freedObjects, freedBytes } = await engine.collect();
    expect(removed).toEqual(['s0002', 's0004', 's0006']);
    expect({ kept, freedObjects }).toEqual({ kept: 5, freedObjects: 3 });
    expect(freedBytes).toBeGreaterThan(3 * 38_000);
    const fresh = await h.engine();
    expect(fresh.list().map(({ id }) => id)).toEqual(['s0001', 's0003', 's0005', 's0007', 's0008']);
    for (const { id } of fresh.list()) {
      await fresh.restore(id);
      expect((await fresh.scan()).digest).toBe(digests.get(id));
    }
    await expect(fresh.restore('s0002')).rejects.toMatchObject({ code: 'AF_SNAPSHOT_UNKNOWN' });
    expect((await fresh.take()).id).toBe('s0009');
  });

  test('a content that only removed snapshots knew is stored again when the tree has it', async () => {
    const engine = await h.engine(keep(1));
    write('a', big(1));
    await engine.take();
    write('a', big(2));
    await engine.take();
    await engine.collect();
    write('a', big(1));
    expect((await engine.take()).addedObjects).toBe(1);
    write('a', 'x');
    await engine.restore('s0003');
    expect(fs.readFileSync(join(h.workspace, 'a'), 'utf8')).toBe(big(1));
  });

  test('a snapshot that was written against removed ones is whole without them', async () => {
    const engine = await h.engine(keep(1, { protectedIds: () => Promise.resolve(['s0003']) }));
    for (let at = 0; at < 20; at++) write(`f${at}`, String(at));
    const digests: string[] = [];
    for (let step = 1; step <= 5; step++) {
      write('f1', `step ${step}`);
      digests.push((await engine.take()).manifestDigest);
    }
    expect((await engine.collect()).removed).toEqual(['s0001', 's0002', 's0004']);
    const fresh = await h.engine();
    expect((await fresh.restore('s0003')).manifestDigest).toBe(digests[2]);
    expect((await fresh.restore('s0005')).manifestDigest).toBe(digests[4]);
  });

  test('a bundle that is being read keeps its objects', async () => {
    const engine = await h.engine(keep(1));
    for (let at = 0; at < 40; at++) write(`f${at}`, big(at));
    await engine.take();
    for (let at = 0; at < 40; at++) fs.rmSync(join(h.workspace, `f${at}`));
    await engine.take();
    const bundle = await engine.revertBundle('s0001', 's0002');
    expect((await engine.collect()).removed).toEqual(['s0001']);
    expect((await buffer(bundle)).includes(big(39))).toBe(true);
    await new Promise((resolve) => setImmediate(resolve));
    expect((await engine.collect()).freedObjects).toBe(40);
  });
});

describe('when', () => {
  test('automatically after a take, when enough has accumulated; reported before and after', async () => {
    const reported: (CollectIntent | CollectReport)[] = [];
    const done = Promise.withResolvers<void>();
    const retention = keep(3, {
      slack: 4,
      onIntent: async (intent) => void reported.push(intent),
      onDone: (report) => (reported.push(report), done.resolve()),
    });
    const engine = await h.engine(retention);
    for (let step = 1; step <= 7; step++) {
      write('a', big(step));
      await engine.take();
    }
    await engine.scan();
    expect(reported).toEqual([]);
    write('a', big(8));
    await engine.take();
    await done.promise;
    const remove = ['s0001', 's0002', 's0003', 's0004', 's0005'];
    expect(reported).toMatchObject([
      { reason: 'Count', remove },
      { reason: 'Count', removed: remove, kept: 3, freedObjects: 5 },
    ]);
  });

  test('nothing is removed when it cannot be announced', async () => {
    const engine = await h.engine(keep(1, { onIntent: () => Promise.reject(new Error('the log is full')) }));
    await engine.take();
    await engine.take();
    await expect(engine.collect()).rejects.toThrow('the log is full');
    expect((await h.engine()).list()).toHaveLength(2);
  });

  test('before a take is refused for lack of room, and then the take succeeds', async () => {
    const engine = await h.engine(keep(2));
    for (let step = 1; step <= 3; step++) {
      write('a', big(step));
      await engine.take();
    }
    write('a', big(4));
    expect(await engine.take({ maxBytes: 1000 })).toMatchObject({ id: 's0004', addedObjects: 1 });
    expect(engine.list().map(({ id }) => id)).toEqual(['s0002', 's0003', 's0004']);
    write('a', 'much more than is there '.repeat(100_000));
    await expect(engine.take({ maxBytes: 1000 })).rejects.toMatchObject({ code: 'AF_STORE_FULL' });
    expect((await engine.restore('s0003')).verified).toBe(true);
  });

  test('the store stays small over many steps', async () => {
    const engine = await h.engine(keep(3));
    for (let step = 0; step < 60; step++) {
      write('a', big(step));
      if (step % 10 === 0) write(`kept ${step}`, big(-step));
      await engine.take();
    }
    await engine.collect();
    expect(storeBytes()).toBeLessThan(2 * 10 * big(-50).length);
    const fresh = await h.engine();
    for (const { id } of fresh.list()) expect((await fresh.restore(id)).verified).toBe(true);
  });
});

describe('damage', () => {
  test('of a manifest breaks only the snapshots based on it', async () => {
    for (let at = 0; at < 20; at++) write(`f${at}`, big(at));
    const engine = await h.engine(keep(2));
    for (let step = 1; step <= 4; step++) {
      write('f0', big(100 + step));
      await engine.take();
    }
    fs.appendFileSync(join(h.storeDir, 'snapshots', 's0001'), 'nonsense\n');
    expect((await engine.collect()).removed).toEqual(['s0001', 's0002']);
    await expect(engine.restore('s0003')).rejects.toMatchObject({ code: 'AF_SNAPSHOT_OBJECT_CORRUPT' });
    write('f0', 'later');
    const later = await engine.take();
    write('f1', 'later');
    expect((await (await h.engine()).restore(later.id)).verified).toBe(true);
  });

  test('of the note where the log ends costs nothing', async () => {
    const engine = await h.engine(keep(1));
    for (let step = 1; step <= 3; step++) {
      write('a', big(step));
      write(`b${step}`, big(-step));
      await engine.take();
    }
    await engine.collect();
    await engine.close();
    fs.writeFileSync(join(h.storeDir, 'log-end'), '{"segm');
    write('a', 'x');
    const fresh = await h.engine();
    expect((await fresh.restore('s0003')).verified).toBe(true);
    write('a', 'y');
    expect((await fresh.take()).id).toBe('s0004');
    expect((await (await h.engine()).restore('s0004')).verified).toBe(true);
  });
});

test('a preempted collection reports what it removed, and is finished later', async () => {
  const reported: string[] = [];
  const retention = keep(1, { slack: 0, onIntent: async () => void reported.push('intent'), onDone: () => reported.push('done') });
  const engine = await h.engine(retention);
  write('a', big(1));
  for (let step = 1; step <= 6; step++) {
    write('a', big(step));
    // The next job is there before the collection of the last one has begun.
    await Promise.all([engine.take(), engine.scan()]);
  }
  await engine.scan();
  expect(reported.slice(0, 2)).toEqual(['intent', 'done']);
  expect(reported.filter((one) => one === 'intent').length).toBeLessThanOrEqual(reported.filter((one) => one === 'done').length);
  await engine.collect();
  expect(storeBytes()).toBeLessThan(2 * big(6).length);
});
