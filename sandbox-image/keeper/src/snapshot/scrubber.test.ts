import fs from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Harness } from './testing/harness.ts';

let h: Harness;
beforeEach(() => {
  h = new Harness();
});
afterEach(() => h.dispose());

function write(name: string, content: string): void {
  fs.writeFileSync(join(h.workspace, name), content);
}

/** Flips one bit of a content in the first segment. */
function damage(text: string): void {
  const path = join(h.storeDir, 'segments', '000001.seg');
  const bytes = fs.readFileSync(path);
  const at = bytes.indexOf(text);
  expect(at).toBeGreaterThan(0);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  fs.writeFileSync(path, bytes);
}

/** Three snapshots; `shared` is in all, `first` in the first only. */
async function three() {
  const engine = await h.engine();
  write('a', 'first');
  write('b', 'shared');
  await engine.take();
  write('a', 'second');
  await engine.take();
  write('a', 'third');
  await engine.take();
  return engine;
}

const ids = (records: readonly { readonly id: string }[]): string[] => records.map(({ id }) => id);

test('a sound store is reported as sound', async () => {
  const engine = await three();
  expect(await engine.scrub()).toMatchObject({ snapshots: 3, objects: 4, bytes: 22, damaged: [], broken: [] });
});

test('a damaged object is reported with the snapshots it breaks; the neighbours stay', async () => {
  const engine = await three();
  damage('first');
  const { damaged, broken } = await engine.scrub();
  expect(damaged).toMatchObject([{ snapshots: ['s0001'], paths: ['workspace/a'] }]);
  expect(damaged[0]?.why).toContain('does not match its hash');
  expect(broken).toEqual(['s0001']);
  expect(ids(engine.list())).toEqual(['s0002', 's0003']);
  const tree = h.describe();
  await expect(engine.restore('s0001')).rejects.toMatchObject({ code: 'AF_SNAPSHOT_OBJECT_CORRUPT' });
  expect(h.describe()).toEqual(tree);
  for (const id of ['s0002', 's0003']) expect((await engine.restore(id)).verified).toBe(true);
});

test('a content that the tree still has is stored again, and repairs the snapshots that lacked it', async () => {
  const engine = await three();
  damage('shared');
  expect((await engine.scrub()).broken).toEqual(['s0001', 's0002', 's0003']);
  expect(engine.list()).toEqual([]);
  expect((await engine.take()).addedObjects).toBe(1);
  expect((await engine.scrub()).broken).toEqual([]);
  write('b', 'other');
  const fresh = await h.engine();
  expect((await fresh.restore('s0001')).verified).toBe(true);
  expect(ids(fresh.list())).toEqual(['s0001', 's0002', 's0003', 's0004']);
});

test('a damaged manifest is reported, with the snapshots based on it', async () => {
  for (let at = 0; at < 20; at++) write(`f${at}`, String(at));
  const engine = await three();
  fs.appendFileSync(join(h.storeDir, 'snapshots', 's0002'), '+nonsense\n');
  expect((await engine.scrub()).broken).toEqual(['s0002', 's0003']);
  expect(ids(engine.list())).toEqual(['s0001']);
  expect((await engine.restore('s0001')).verified).toBe(true);
  const later = await engine.take();
  expect((await (await h.engine()).restore(later.id)).verified).toBe(true);
});

test('it keeps to its rate and ends when aborted', async () => {
  const engine = await three();
  write('big', 'x'.repeat(1 << 20));
  await engine.take();
  const stop = new AbortController();
  const reason = new Error('enough');
  const running = engine.scrub({ bytesPerSecond: 1000, signal: stop.signal }).then(
    () => 'ended by itself',
    (error: unknown) => (error instanceof Error ? (error.cause ?? error) : error),
  );
  // Others are not kept waiting by it.
  write('a', 'meanwhile');
  expect((await engine.take()).id).toBe('s0005');
  stop.abort(reason);
  expect(await running).toBe(reason);
});
