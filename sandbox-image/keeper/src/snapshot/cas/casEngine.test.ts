import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { SnapshotError } from '../base/errors.ts';
import { ObjectStore } from '../objects/objectStore.ts';
import { displayPath } from '../base/pathBytes.ts';
import { Harness } from '../testing/harness.ts';

let harness: Harness;
beforeEach(() => {
  harness = new Harness();
});
afterEach(() => harness.dispose());

function write(name: string, content: string): void {
  fs.writeFileSync(join(harness.workspace, name), content);
}

async function codeOf(run: () => Promise<unknown>): Promise<string> {
  try {
    await run();
  } catch (error) {
    if (error instanceof SnapshotError) return error.code;
    throw error;
  }
  return 'no error';
}

describe('take', () => {
  test('reports what it captured, stores a content once, and continues the numbers after a restart', async () => {
    write('a', 'same');
    write('b', 'same');
    fs.mkdirSync(join(harness.home, 'empty'));
    const engine = await harness.engine();
    const first = await engine.take({ label: 'start' });
    expect(first).toMatchObject({
      id: 's0001',
      parent: null,
      label: 'start',
      entries: 3,
      files: 2,
      bytes: 8,
      addedObjects: 1,
      addedBytes: 4,
    });
    const again = await harness.engine();
    expect(await again.take()).toMatchObject({ id: 's0002', parent: 's0001', addedObjects: 0, manifestDigest: first.manifestDigest });
    expect(again.list().map(({ id }) => id)).toEqual(['s0001', 's0002']);
  });

  test('a snapshot after a restore has the restored one as its parent, also after a restart', async () => {
    const engine = await harness.engine();
    await engine.take();
    write('a', '1');
    await engine.take();
    await engine.restore('s0001');
    const later = await harness.engine();
    expect((await later.take()).parent).toBe('s0001');
  });

  test('manifests are equal after a chain of deltas', async () => {
    for (let at = 0; at < 20; at++) write(`f${at}`, String(at));
    const engine = await harness.engine();
    const digests: string[] = [];
    for (let step = 0; step < 40; step++) {
      write(`f${step % 20}`, `step ${step}`);
      if (step % 7 === 0) fs.rmSync(join(harness.workspace, `f${(step + 3) % 20}`), { force: true });
      digests.push((await engine.take()).manifestDigest);
    }
    const fresh = await harness.engine();
    for (const [at, { id }] of fresh.list().entries()) expect((await fresh.manifest(id)).digest).toBe(digests[at]);
  });

  test('fifos are listed, not captured; new ones are removed by a restore, old ones stay', async () => {
    execFileSync('mkfifo', [join(harness.workspace, 'old')]);
    const engine = await harness.engine();
    expect((await engine.take()).skipped).toEqual([{ path: 'workspace/old', kind: 'fifo' }]);
    fs.mkdirSync(join(harness.workspace, 'dir'));
    execFileSync('mkfifo', [join(harness.workspace, 'dir', 'new')]);
    await engine.restore('s0001');
    expect(fs.readdirSync(harness.workspace)).toEqual(['old']);
  });

  test('an edit that leaves size and times as they were is seen', async () => {
    write('a', 'one');
    const engine = await harness.engine();
    const path = join(harness.workspace, 'a');
    await engine.take();
    const { atime, mtime } = fs.statSync(path);
    write('a', 'two');
    fs.utimesSync(path, atime, mtime);
    const changed = await engine.take();
    expect(changed.addedObjects).toBe(1);
  });

  test.each([
    ['10 ms before the scan is read again by the next one: a second edit could hide', 10, 2],
    ['long before the scan is not read again', 1000, 1],
  ])('a file changed %s', async (_, age, reads) => {
    write('a', 'one');
    const changed = fs.statSync(join(harness.workspace, 'a')).ctimeMs;
    const small = vi.spyOn(ObjectStore.prototype, 'small');
    const engine = await harness.engine({ clock: { now: () => changed + age } });
    await engine.take();
    await engine.take();
    expect(small).toHaveBeenCalledTimes(reads);
    small.mockRestore();
  });

  test('a big file is stored and restored in pieces', async () => {
    const big = Buffer.alloc(70 * 1024 * 1024, 'agentfleet');
    fs.writeFileSync(join(harness.workspace, 'big'), big);
    const engine = await harness.engine();
    await engine.take();
    fs.truncateSync(join(harness.workspace, 'big'), 5);
    write('next', 'goes to the next segment');
    await engine.take();
    const fresh = await harness.engine();
    await fresh.restore('s0001');
    expect(fs.readFileSync(join(harness.workspace, 'big')).equals(big)).toBe(true);
    await fresh.restore('s0002');
    expect(fs.readdirSync(join(harness.storeDir, 'segments'))).toHaveLength(2);
  });

  test('the event loop is not held for long', async () => {
    for (let at = 0; at < 3000; at++) write(`f${at}`, 'x'.repeat(2000) + at);
    const engine = await harness.engine();
    // CPU time: other load on the machine does not count.
    let last = process.cpuUsage();
    let longest = 0;
    const timer = setInterval(() => {
      const { user, system } = process.cpuUsage(last);
      longest = Math.max(longest, (user + system) / 1000);
      last = process.cpuUsage();
    }, 1);
    await engine.take();
    clearInterval(timer);
    expect(longest).toBeLessThan(150);
  });
});

describe('restore', () => {
  test('an unknown snapshot is refused', async () => {
    const engine = await harness.engine();
    expect(await codeOf(() => engine.restore('s0001'))).toBe('AF_SNAPSHOT_UNKNOWN');
    expect(await codeOf(() => engine.manifest('../x'))).toBe('AF_SNAPSHOT_UNKNOWN');
  });

  test('a tree that cannot be made equal is reported, not accepted', async () => {
    write('a', '1');
    const engine = await harness.engine({ setMeta: async () => undefined });
    await engine.take();
    write('a', '2');
    const error = await engine.restore('s0001').catch((error: unknown) => error);
    expect(error).toMatchObject({ code: 'AF_RESTORE_MISMATCH', message: 'after restoring s0001, 1 paths differ: workspace/a' });
  });

  test('a symlink where a directory was does not lead out of the tree', async () => {
    const outside = fs.mkdtempSync(join(harness.dir, 'outside-'));
    fs.writeFileSync(join(outside, 'kept'), 'mine');
    fs.mkdirSync(join(harness.workspace, 'dir'));
    write('dir/kept', 'theirs');
    const engine = await harness.engine();
    await engine.take();
    fs.rmSync(join(harness.workspace, 'dir'), { recursive: true });
    fs.symlinkSync(outside, join(harness.workspace, 'dir'));
    await engine.restore('s0001');
    expect(fs.readFileSync(join(outside, 'kept'), 'utf8')).toBe('mine');
    expect(fs.readFileSync(join(harness.workspace, 'dir/kept'), 'utf8')).toBe('theirs');
  });

  test('nested roots and a store inside of a root are refused', async () => {
    const roots = [{ name: 'all', path: harness.dir }];
    expect(await codeOf(() => harness.engine({ roots }))).toBe('AF_SNAPSHOT_CONFIG');
  });
});

describe('diff', () => {
  test('lists changes, and git can apply its patch', async () => {
    write('edit', 'one\ntwo\nthree\n');
    write('sp ace', 'old');
    write('gone', 'bye\n');
    write('bin', 'a\0b');
    const engine = await harness.engine();
    await engine.take();
    const copy = join(harness.dir, 'copy');
    fs.cpSync(harness.workspace, copy, { recursive: true });
    write('edit', 'one\n2\nthree\n');
    write('sp ace', 'new');
    fs.chmodSync(join(harness.workspace, 'edit'), 0o755);
    fs.rmSync(join(harness.workspace, 'gone'));
    fs.symlinkSync('edit', join(harness.workspace, 'link'));
    write('caf\u00e9\n', 'new\n');
    const { entries, unified } = await engine.diff('s0001', 'current');
    expect(entries.map(({ op, path }) => `${op} ${path}`)).toEqual([
      'A workspace/caf\u00e9%0A',
      'M workspace/edit',
      'D workspace/gone',
      'A workspace/link',
      'M workspace/sp ace',
    ]);
    expect(entries[1]).toMatchObject({ modeTo: 0o755, sizeFrom: 14, sizeTo: 12 });
    expect(Object.keys(entries[2] ?? {})).toEqual(['path', 'op', 'modeFrom', 'sizeFrom']);
    // By these the worker knows a link.
    expect(entries[3]).toMatchObject({ modeTo: 0o777, sizeTo: 0 });
    const applied = spawnSync('git', ['apply', '-p2'], { cwd: copy, input: unified, encoding: 'utf8' });
    expect(applied.stderr).toBe('');
    fs.rmSync(harness.home, { recursive: true });
    expect(fs.readdirSync(copy).sort()).toEqual(fs.readdirSync(harness.workspace).sort());
    for (const name of fs.readdirSync(copy)) {
      expect(fs.readFileSync(join(copy, name))).toEqual(fs.readFileSync(join(harness.workspace, name)));
    }
    expect(fs.statSync(join(copy, 'edit')).mode & 0o111).toBe(0o111);
    fs.mkdirSync(harness.home);
  });

  test('lines that are hidden in a whole text are hidden in its hunks', async () => {
    const lines = (last: string): string => `secret\n${Array.from({ length: 8 }, (_, n) => `part ${n}\n`).join('')}${last}\n`;
    write('key', lines('before'));
    const engine = await harness.engine();
    await engine.take();
    write('key', lines('after'));
    const hide = (text: string): string => (text.startsWith('secret') ? text.replaceAll(/^part .$/gm, 'hidden') : text);
    const { unified } = await engine.diff('s0001', 'current', hide);
    expect(unified).toContain(' hidden\n-before\n+after\n');
    expect(unified).not.toContain('part');
    expect((await engine.diff('s0001', 'current')).unified).toContain(' part 7\n-before\n+after\n');
  });

  test('binary contents are named, long patches are cut', async () => {
    const engine = await harness.engine();
    await engine.take();
    write('bin', 'a\0b');
    for (let at = 0; at < 10; at++) write(`t${at}`, 'line\n'.repeat(40_000));
    const { unified } = await engine.diff('s0001', 'current');
    expect(unified).toContain('Binary files /dev/null and b/workspace/bin differ\n');
    expect(unified.length).toBeLessThan(1_100_000);
    expect(unified).toMatch(/# cut at \d+ characters: \d+ more changed paths\n$/);
  });
});

test('paths are shown reversibly', () => {
  expect(displayPath('a b/\xc3\xa9/\xff%')).toBe('a b/é/%FF%25');
});
