import fs from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Program } from './base/program.ts';
import { TooManyXattrs, setMetaByRunner, treeStatsByRunner, xattrsByRunner } from './base/xattrs.ts';
import { buildRunner } from './testing/runner.ts';

const runner = buildRunner();
afterAll(() => runner?.remove());

let dir: string;
/** Each test's own, so that its processes differ from those of the others. */
let binary: string;
let program: Program;
beforeEach(() => {
  dir = fs.mkdtempSync(join(tmpdir(), 'af-lasting-'));
  fs.mkdirSync(join(dir, 'tree'));
  // More than fits into a pipe at once, in few files.
  for (let file = 0; file < 400; file++) fs.writeFileSync(join(dir, 'tree', `file-${file}${file < 3 ? '' : 'x'.repeat(200)}`), '');
  binary = join(dir, 'runner');
  if (runner !== null) fs.linkSync(runner.binary, binary);
  program = new Program(binary);
});
afterEach(() => fs.rmSync(dir, { recursive: true }));

/** Processes that serve this test. */
function servers(): number[] {
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    try {
      const words = fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0');
      return words[0] === binary && words[1] === 'files';
    } catch {
      return false;
    }
  });
}

const tree = (): string => join(dir, 'tree');
const mtimes = (): bigint[] => [1, 2].map((file) => fs.statSync(join(tree(), `file-${file}`), { bigint: true }).mtimeNs);
const records = (ns: bigint) => [1, 2].map((file) => ({ path: Buffer.from(`file-${file}`), mtimeNs: ns }));

describe.skipIf(runner === null)('a program that lasts', () => {
  test('answers from one process, calls beside one another', async () => {
    const [lasting, other] = [treeStatsByRunner(program), treeStatsByRunner(new Program(runner?.binary ?? ''))];
    const reader = xattrsByRunner(program).read(tree(), 1 << 20);
    reader.ask('file-1');
    const read = async (root: string, max = 10_000, since: string | null = null) => lasting.read(root, max, since);
    const [first, second] = await Promise.all([read(tree()), read(dir)]);
    const before = servers();
    expect(before).toHaveLength(1);
    expect(await read(tree(), 399), 'more names than were asked for').toBeNull();
    await setMetaByRunner(program)(tree(), records(1n));
    await expect(setMetaByRunner(program)(join(dir, 'gone'), [])).rejects.toThrow('no such file');
    await expect(reader.answers()).resolves.toEqual([]);
    expect(servers()).toEqual(before);
    expect(mtimes()).toEqual([1n, 1n]);
    await setMetaByRunner(program)(dir, []);
    expect(first?.records.length).toBeGreaterThan(400 * 250);
    const alone = async (root: string) => (await other.read(root, 10_000, null))?.records ?? Buffer.alloc(0);
    expect(second?.records.equals(await alone(tree()))).toBe(false);
    const whole = await read(tree());
    expect(whole).toMatchObject({ changesOnly: false, records: await alone(tree()) });
    expect(await read(tree(), 10_000, whole?.token)).toMatchObject({ changesOnly: true, records: Buffer.alloc(0) });
    expect(await other.read(tree(), 10_000, whole?.token ?? null), 'one that does not remember').toMatchObject({ changesOnly: false });
  });

  test('that is killed under its calls does them again', async () => {
    await setMetaByRunner(program)(tree(), []);
    const reader = xattrsByRunner(program).read(tree(), 1 << 20);
    reader.ask('file-1');
    const run = program.start(['setmeta', tree()]);
    run.write(Buffer.from('7\0file-1\0'));
    const [pid = 0, ...others] = servers();
    expect(others).toEqual([]);
    process.kill(pid, 'SIGKILL');
    // Calls that are open start the next one at once.
    await vi.waitFor(() => expect(servers()).not.toContain(pid), { timeout: 30_000 });
    run.write(Buffer.from('7\0file-2\0'));
    run.end();
    expect((await run.ended).code).toBe(0);
    expect(mtimes()).toEqual([7n, 7n]);
    expect(await reader.answers()).toEqual([]);
    await setMetaByRunner(program)(tree(), records(9n));
    expect(mtimes(), 'by a new process').toEqual([9n, 9n]);
    expect(servers()).toHaveLength(1);
  });

  test('that is idle ends, and is started again', async () => {
    const brief = new Program(binary, 1);
    await setMetaByRunner(brief)(tree(), records(3n));
    await vi.waitFor(() => expect(servers()).toEqual([]), { timeout: 30_000 });
    await setMetaByRunner(brief)(tree(), records(4n));
    expect(mtimes()).toEqual([4n, 4n]);
    await vi.waitFor(() => expect(servers()).toEqual([]), { timeout: 30_000 });
  });

  test('is ended when it writes more than requested', async () => {
    const reader = program.start(['stat', tree(), '10000', '-'], { maxOutput: 1000, tooMuch: () => new TooManyXattrs('too much') });
    reader.end();
    await expect(reader.ended).rejects.toThrow('too much');
  });

  test('keeps no process that wants to end, and ends with it', () => {
    const source = `
      import { Program } from ${JSON.stringify(new URL('base/program.ts', import.meta.url).href)};
      const run = new Program(${JSON.stringify(binary)}).start(['setmeta', '/']);
      run.end();
      console.log((await run.ended).code);`;
    const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', source], { encoding: 'utf8', timeout: 30_000 });
    expect([status, stdout]).toEqual([0, '0\n']);
  });
});

test('a program that cannot be started, or does not answer, is an error', async () => {
  await expect(setMetaByRunner(new Program('/nonexistent'))('/', [])).rejects.toThrow('ENOENT');
  await expect(setMetaByRunner(new Program('/bin/true'))('/', [])).rejects.toThrow('ended before it answered');
  expect(await treeStatsByRunner(new Program('/nonexistent')).read('/', 1, null)).toBeNull();
});
