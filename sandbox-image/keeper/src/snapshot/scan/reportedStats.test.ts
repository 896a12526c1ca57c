import fs from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { CasEngine } from '../cas/casEngine.ts';
import { Program } from '../base/program.ts';
import { Harness } from '../testing/harness.ts';
import { buildRunner } from '../testing/runner.ts';
import { type StatAnswer, type TreeStats, treeStatsByRunner } from '../base/xattrs.ts';

const runner = buildRunner();
afterAll(() => runner?.remove());

let h: Harness;
beforeEach(() => {
  h = new Harness();
});
afterEach(() => h.dispose());

/** By this clock no change is so recent that another one could be hidden. */
const late = { now: () => Date.now() + 60_000 };
const files = ['a/f', 'a/g', 'a/b/f', 'a/b/c/f', 'a.d/f', 'a-f', 'é/f', 'z\n/f'];

function grow(): void {
  for (const path of ['a', 'a.d', 'a/b/c', 'é', 'z\n']) fs.mkdirSync(join(h.workspace, path), { recursive: true });
  for (const path of files) fs.writeFileSync(join(h.workspace, path), path);
}

/** Digest by an engine that remembers nothing. */
async function truth(): Promise<string> {
  fs.rmSync(join(h.storeDir, 'stat-cache'), { force: true });
  return (await (await h.engine()).scan()).digest;
}

describe.skipIf(runner === null)('reports of changes only', () => {
  let answers: (StatAnswer | null)[];
  let treeStats: TreeStats;
  beforeEach(() => {
    answers = [];
    const real = treeStatsByRunner(new Program(runner?.binary ?? ''), 0);
    const read: TreeStats['read'] = async (...question) => {
      const answer = await real.read(...question);
      answers.push(answer);
      return answer;
    };
    treeStats = { worthFrom: 0, read };
  });
  const open = (): Promise<CasEngine> => h.engine({ treeStats, clock: late });

  test('knows the rest to be as it was, and asks for nothing', async () => {
    grow();
    const engine = await open();
    const first = await engine.take();
    await engine.take();
    const lstat = vi.spyOn(fs, 'lstatSync');
    expect((await engine.take()).manifestDigest).toBe(first.manifestDigest);
    expect(lstat.mock.calls.filter(([path]) => String(path).startsWith(`${h.workspace}/`))).toEqual([]);
    lstat.mockRestore();
    expect(answers.slice(-2)).toMatchObject([
      { changesOnly: true, records: Buffer.alloc(0) },
      { changesOnly: true, records: Buffer.alloc(0) },
    ]);
  });

  test.each<[string, () => void]>([
    ...files.map((path): [string, () => void] => [
      `${JSON.stringify(path)} written`,
      () => fs.appendFileSync(join(h.workspace, path), 'x'),
    ]),
    ['a mode', () => fs.chmodSync(join(h.workspace, 'a/b/f'), 0o600)],
    ['a new file', () => fs.writeFileSync(join(h.workspace, 'a/b/new'), '')],
    ['a file gone', () => fs.rmSync(join(h.workspace, 'a/b/c/f'))],
    ['a folder moved', () => fs.renameSync(join(h.workspace, 'a/b'), join(h.workspace, 'a.d/b'))],
    ['a further name', () => fs.linkSync(join(h.workspace, 'a/b/f'), join(h.workspace, 'é/f2'))],
    [
      'a folder in the place of a file',
      () => {
        fs.rmSync(join(h.workspace, 'a/f'));
        fs.mkdirSync(join(h.workspace, 'a/f'));
      },
    ],
  ])('sees %s, again and again', async (_, change) => {
    grow();
    const engine = await open();
    await engine.take();
    expect((await engine.restore((await engine.take()).id)).verified).toBe(true);
    change();
    const changed = await engine.take();
    expect(changed.manifestDigest).toBe(await truth());
    expect((await engine.restore('s0001')).verified).toBe(true);
    expect((await engine.restore(changed.id)).verified).toBe(true);
    expect((await engine.scan()).digest).toBe(await truth());
    expect(answers.slice(2).every((answer) => answer?.changesOnly)).toBe(true);
  });

  test('trusts no report after an incomplete scan', async () => {
    grow();
    const engine = await h.engine({ treeStats, clock: late, limits: { entries: 1000, bytes: 10_000 } });
    await engine.take();
    fs.writeFileSync(join(h.workspace, 'a/big'), 'x'.repeat(20_000));
    fs.appendFileSync(join(h.workspace, 'é/f'), 'more');
    await expect(engine.take()).rejects.toMatchObject({ code: 'AF_QUOTA_EXCEEDED' });
    fs.rmSync(join(h.workspace, 'a/big'));
    expect((await engine.take()).manifestDigest).toBe(await truth());
  });
});

/** Record of an unreadable folder, as `runner stat` writes it. */
function blindRecord(name: string): Buffer {
  const stat = fs.lstatSync(join(h.workspace, name));
  const head = Buffer.alloc(54);
  [1, name.length, 1].forEach((number, at) => head.writeUInt16LE(number, 2 * at));
  const numbers = [stat.ino, stat.ctimeMs, stat.mtimeMs, stat.size, stat.mode, stat.nlink];
  numbers.forEach((number, at) => head.writeDoubleLE(number, 6 + 8 * at));
  return Buffer.concat([head, Buffer.from(name)]);
}

test.skipIf(runner === null)('below a folder of which nothing is known each name is asked for', async () => {
  grow();
  const real = treeStatsByRunner(new Program(runner?.binary ?? ''), 0);
  let blind: (() => Buffer) | null = null;
  const reported: TreeStats = {
    worthFrom: 0,
    read: async (root, max, since) =>
      blind === null
        ? real.read(root, max, since)
        : { token: '', changesOnly: true, records: root === h.workspace ? blind() : Buffer.alloc(0) },
  };
  const engine = await h.engine({ treeStats: reported, clock: late });
  await engine.take();
  await engine.take();
  blind = () => blindRecord('a');
  fs.appendFileSync(join(h.workspace, 'a/b/c/f'), 'more');
  fs.appendFileSync(join(h.workspace, 'a.d/f'), 'not reported');
  const seen = (await engine.scan()).digest;
  fs.writeFileSync(join(h.workspace, 'a.d/f'), 'a.d/f');
  expect(seen).not.toBe((await engine.manifest('s0001')).digest);
  const size = (await engine.manifest((await engine.take()).id)).entries.find(({ path }) => path === 'workspace/a/b/c/f')?.size;
  expect(size).toBe('a/b/c/f'.length + 4);
});
