import fs from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Harness } from '../testing/harness.ts';
import { buildRunner } from '../testing/runner.ts';
import { Program } from '../base/program.ts';
import { type TreeStats, treeStatsByRunner } from '../base/xattrs.ts';
import { StatCursor } from './statCursor.ts';

const runner = buildRunner();
afterAll(() => runner?.remove());

let h: Harness;
beforeEach(() => {
  h = new Harness();
});
afterEach(() => h.dispose());

/** A record as `runner stat` writes it; `size` identifies it. */
function record(depth: number, name: string, size: number): Buffer {
  const head = Buffer.alloc(54);
  head.writeUInt16LE(depth, 0);
  head.writeUInt16LE(name.length, 2);
  head.writeDoubleLE(size, 30);
  return Buffer.concat([head, Buffer.from(name, 'latin1')]);
}

test('a walk that knows more or less than the records meets the right ones again', () => {
  const cursor = new StatCursor(
    Buffer.concat([
      record(1, 'a', 1),
      record(2, 'unknown', 2),
      record(2, '\xff', 3),
      record(1, 'b', 4),
      record(2, 'x', 5),
      record(1, 'd', 6),
    ]),
  );
  const find = (name: string, depth: number) => cursor.find(name, depth)?.size ?? null;
  expect(find('a', 1)).toBe(1);
  expect(find('gone', 2)).toBeNull();
  expect(find('\xff', 2)).toBe(3);
  expect(find('\xff', 3)).toBeNull();
  expect(find('b', 1)).toBe(4);
  expect(find('c', 1)).toBeNull();
  expect(find('d', 1)).toBe(6);
  expect(find('e', 1)).toBeNull();
  expect(new StatCursor(Buffer.from('torn')).find('a', 1)).toBeNull();
});

describe.skipIf(runner === null)('with the real runner', () => {
  const treeStats = treeStatsByRunner(new Program(runner?.binary ?? ''), 0);
  const late = { now: () => Date.now() + 60_000 };

  /** A tree whose order of names is not that of the walk of a careless program. */
  function grow(): void {
    for (const path of ['a', 'a.d', 'a/b/c', 'é', 'z\n']) fs.mkdirSync(join(h.workspace, path), { recursive: true });
    for (const path of ['a/f', 'a/b/f', 'a/b/c/f', 'a.d/f', 'a-f', 'é/f', 'z\n/f']) fs.writeFileSync(join(h.workspace, path), path);
    fs.symlinkSync('a', join(h.workspace, 'link'));
  }

  test('an unchanged tree is not asked for name by name; a change anywhere is seen', async () => {
    grow();
    const engine = await h.engine({ treeStats, clock: late });
    const { manifestDigest } = await engine.take();
    const lstat = vi.spyOn(fs, 'lstatSync');
    expect((await engine.take()).manifestDigest).toBe(manifestDigest);
    expect(lstat.mock.calls.filter(([path]) => String(path).startsWith(`${h.workspace}/`))).toEqual([]);
    lstat.mockRestore();
    const digests = new Set([manifestDigest]);
    for (const path of ['a/f', 'a/b/f', 'a/b/c/f', 'a.d/f', 'a-f', 'é/f', 'z\n/f']) {
      const { atime, mtime, size } = fs.statSync(join(h.workspace, path));
      fs.writeFileSync(join(h.workspace, path), 'X'.repeat(size));
      fs.utimesSync(join(h.workspace, path), atime, mtime);
      digests.add((await engine.take()).manifestDigest);
    }
    expect(digests.size).toBe(8);
    fs.rmSync(join(h.workspace, 'a/b'), { recursive: true });
    const after = await engine.take();
    expect((await (await h.engine()).scan()).digest).toBe(after.manifestDigest);
  });

  test.each([
    ['fails', () => treeStatsByRunner(new Program('/bin/false'), 0)],
    ['cannot be started', () => treeStatsByRunner(new Program('/nonexistent'), 0)],
    ['reports more names than are allowed', (): TreeStats => ({ worthFrom: 0, read: (root) => treeStats.read(root, 3, null) })],
  ])('a program that %s costs time and nothing else', async (_, broken) => {
    grow();
    const engine = await h.engine({ treeStats: broken(), clock: late });
    const { manifestDigest } = await engine.take();
    fs.writeFileSync(join(h.workspace, 'a/b/c/f'), 'other');
    expect((await engine.take()).manifestDigest).not.toBe(manifestDigest);
    expect((await engine.restore('s0001')).verified).toBe(true);
  });
});
