import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { CasOptions } from '../cas/casEngine.ts';
import { ObjectStore } from '../objects/objectStore.ts';
import { Harness } from '../testing/harness.ts';

let h: Harness;
beforeEach(() => {
  h = new Harness();
  for (let at = 0; at < 30; at++) fs.writeFileSync(join(h.workspace, `f${at}`), `content ${at}`);
  fs.mkdirSync(join(h.workspace, 'dir'));
  fs.linkSync(join(h.workspace, 'f1'), join(h.workspace, 'dir', 'link of f1'));
  fs.symlinkSync('f2', join(h.workspace, 'dir', 'new\nline'));
});
afterEach(() => h.dispose());

/** A clock that is far ahead: nothing is racy. */
const late: Partial<CasOptions> = { clock: { now: () => Date.now() + 60_000 } };

/** Returns how many files a new engine reads for its first snapshot. */
async function readsOfNext(options = late): Promise<{ reads: number; digest: string }> {
  const small = vi.spyOn(ObjectStore.prototype, 'small');
  try {
    const engine = await h.engine(options);
    const { manifestDigest } = await engine.take();
    await engine.close();
    return { reads: small.mock.calls.length, digest: manifestDigest };
  } finally {
    small.mockRestore();
  }
}

async function first(options = late): Promise<string> {
  const engine = await h.engine(options);
  const { manifestDigest } = await engine.take();
  await engine.close();
  return manifestDigest;
}

test('after a restart nothing that is unchanged is read again', async () => {
  const digest = await first();
  expect(await readsOfNext()).toEqual({ reads: 0, digest });
  expect(await readsOfNext()).toEqual({ reads: 0, digest });
});

test('files changed while no keeper ran are read, and only those', async () => {
  await first();
  const path = join(h.workspace, 'f3');
  const { atime, mtime } = fs.statSync(path);
  fs.writeFileSync(path, 'CONTENT 3');
  fs.utimesSync(path, atime, mtime);
  fs.writeFileSync(join(h.workspace, 'dir', 'new'), 'new');
  fs.rmSync(join(h.workspace, 'f4'));
  const { reads, digest } = await readsOfNext();
  expect(reads).toBe(2);
  fs.rmSync(join(h.storeDir, 'stat-cache'));
  expect((await readsOfNext()).digest).toBe(digest);
});

test('a file changed in the clock tick of the last scan is read again', async () => {
  const newest = Math.max(...fs.readdirSync(h.workspace).map((name) => fs.lstatSync(join(h.workspace, name)).ctimeMs));
  const soon = { clock: { now: () => newest + 1 } };
  const digest = await first(soon);
  const { reads, digest: again } = await readsOfNext(soon);
  expect(reads).toBeGreaterThan(0);
  expect(again).toBe(digest);
});

test.each([
  ['torn', (text: string) => text.slice(0, text.length / 2)],
  ['damaged', (text: string) => text.replace('0644', '0600')],
  ['empty', () => ''],
  ['of another format', (text: string) => text.replace(/cache\/\d/, 'cache/9')],
])('a cache that is %s is not believed', async (_, spoil) => {
  const digest = await first();
  const path = join(h.storeDir, 'stat-cache');
  fs.writeFileSync(path, spoil(fs.readFileSync(path, 'latin1')), 'latin1');
  expect(await readsOfNext()).toEqual({ reads: 31, digest });
});

test('a cache of an earlier boot is ignored: contents not written before the power failure are found to be missing', async () => {
  const digest = await first({ ...late, bootId: 'one' });
  expect(await readsOfNext({ ...late, bootId: 'one' })).toEqual({ reads: 0, digest });
  expect(await readsOfNext({ ...late, bootId: 'two' })).toEqual({ reads: 31, digest });
});

test('skipped entries are found again', async () => {
  execFileSync('mkfifo', [join(h.workspace, 'dir', 'fifo')]);
  await first();
  const engine = await h.engine(late);
  expect((await engine.take()).skipped).toEqual([{ path: 'workspace/dir/fifo', kind: 'fifo' }]);
});

test('a content that the store has lost meanwhile is stored again', async () => {
  await first();
  for (const dir of ['segments', 'snapshots'])
    for (const name of fs.readdirSync(join(h.storeDir, dir))) fs.rmSync(join(h.storeDir, dir, name));
  const engine = await h.engine(late);
  expect((await engine.take()).addedObjects).toBe(30);
});
