import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Program } from '../base/program.ts';
import { clearByRunner } from '../base/xattrs.ts';
import { Scanner, TreeTooLarge } from '../scan/index.ts';
import { Harness } from '../testing/harness.ts';
import { buildRunner } from '../testing/runner.ts';

const runner = buildRunner();
const clear = clearByRunner(new Program(runner?.binary ?? ''));
afterAll(() => runner?.remove());

let h: Harness;
beforeEach(() => {
  h = new Harness();
});
afterEach(() => h.dispose());

const limits = { entries: 400, bytes: 1 << 20 };
const refused = { code: 'AF_QUOTA_EXCEEDED' };

/** Makes folders below `top` until the path is longer than the system takes, and puts a file at the end. */
function dig(top: string, mode = 0o700): void {
  let fd = fs.openSync(top, 'r');
  for (let depth = 0; depth < 40; depth++) {
    const next = `/proc/self/fd/${fd}/${'d'.repeat(250)}`;
    fs.mkdirSync(next);
    const below = fs.openSync(next, 'r');
    fs.chmodSync(`/proc/self/fd/${below}`, mode | 0o300);
    fs.closeSync(fd);
    fd = below;
  }
  fs.writeFileSync(`/proc/self/fd/${fd}/file`, 'x');
  fs.closeSync(fd);
}

/** Captures a tree with content that a restore must not lose. */
async function captured() {
  fs.mkdirSync(`${h.workspace}/src/closed`, { recursive: true });
  fs.writeFileSync(`${h.workspace}/src/a`, 'a');
  fs.symlinkSync('a', `${h.workspace}/src/link`);
  fs.chmodSync(`${h.workspace}/src/closed`, 0o000);
  const engine = await h.engine({ limits, clear });
  return { engine, before: h.describe(), taken: await engine.take() };
}

describe.skipIf(runner === null)('a tree that is too much', () => {
  it.each([
    ['many files', () => Array.from({ length: 420 }, (_, n) => fs.writeFileSync(`${h.workspace}/src/n${n}`, ''))],
    ['many folders in folders', () => fs.mkdirSync(`${h.workspace}/${'x/'.repeat(500)}`, { recursive: true })],
    [
      'few paths with long names',
      () => fs.mkdirSync(`${h.workspace}/${`${'y'.repeat(250)}/`.repeat(15)}${'z/'.repeat(15)}`, { recursive: true }),
    ],
    ['a file that is long and holds nothing', () => fs.truncateSync(`${h.workspace}/src/a`, 2 ** 42)],
    [
      'many files that are too much together',
      () => Array.from({ length: 9 }, (_, n) => fs.writeFileSync(`${h.workspace}/src/n${n}`, Buffer.alloc(1 << 17, n))),
    ],
    [
      'fifos, which every record would name',
      () => execFileSync('sh', ['-c', 'for n in $(seq 300); do mkfifo "$0/f$n"; done', h.workspace]),
    ],
    ['a path that the system cannot name', () => dig(`${h.workspace}/src`)],
    ['such a path, closed', () => dig(`${h.workspace}/src`, 0o000)],
    [
      'a link in place of a folder',
      () => {
        fs.chmodSync(`${h.workspace}/src/closed`, 0o700);
        fs.rmdirSync(`${h.workspace}/src/closed`);
        fs.symlinkSync(h.dir, `${h.workspace}/src/closed`);
        dig(h.workspace);
      },
    ],
  ])('is refused by a take and undone by a restore: %s', async (_name, grow) => {
    const { engine, before, taken } = await captured();
    fs.mkdirSync(`${h.dir}/outside`);
    fs.writeFileSync(`${h.dir}/outside/precious`, '1');
    grow();
    await expect(engine.take()).rejects.toMatchObject(refused);
    await expect(engine.diff(taken.id, 'current')).rejects.toMatchObject(refused);
    const report = await engine.restore(taken.id);
    expect(report).toMatchObject({ verified: true, manifestDigest: taken.manifestDigest });
    expect(report.deleted + report.modified).toBeGreaterThan(0);
    expect(h.describe()).toEqual(before);
    expect(fs.existsSync(`${h.dir}/outside/precious`)).toBe(true);
    expect((await engine.take()).manifestDigest).toBe(taken.manifestDigest);
  });

  it.each([
    ['a fifo is now a folder of files', () => Array.from({ length: 420 }, (_, n) => fs.writeFileSync(`${h.workspace}/fifo/${n}`, ''))],
    ['a fifo is now a folder with a path that the system cannot name', () => dig(`${h.workspace}/fifo`)],
    [
      'a file with two names is now two files',
      () => {
        fs.rmSync(`${h.workspace}/second`);
        fs.writeFileSync(`${h.workspace}/second`, Buffer.alloc(limits.bytes * 0.6));
      },
    ],
  ])('is undone where every path is one of the snapshot: %s', async (_name, grow) => {
    for (const name of ['fifo', 'kept']) execFileSync('mkfifo', [`${h.workspace}/${name}`]);
    fs.writeFileSync(`${h.workspace}/first`, Buffer.alloc(limits.bytes * 0.6));
    fs.linkSync(`${h.workspace}/first`, `${h.workspace}/second`);
    const { engine, taken } = await captured();
    fs.rmSync(`${h.workspace}/fifo`);
    fs.mkdirSync(`${h.workspace}/fifo`);
    grow();
    await expect(engine.take()).rejects.toMatchObject(refused);
    expect(await engine.restore(taken.id)).toMatchObject({ verified: true, manifestDigest: taken.manifestDigest });
    expect(fs.existsSync(`${h.workspace}/kept`)).toBe(true);
  });

  it('is undone where the way to what is kept is too much itself', async () => {
    fs.mkdirSync(`${h.workspace}/way`);
    execFileSync('mkfifo', [`${h.workspace}/way/fifo`]);
    const { engine, taken } = await captured();
    fs.writeFileSync(`${h.workspace}/src/n`, Buffer.alloc(limits.bytes + 1));
    let rounds = 0;
    const look = vi.spyOn(Scanner.prototype, 'look').mockImplementation(async function (this: Scanner, ...args) {
      if (++rounds < 3) throw new TreeTooLarge('too much');
      look.mockRestore();
      return this.look(...args);
    });
    expect(await engine.restore(taken.id)).toMatchObject({ verified: true, manifestDigest: taken.manifestDigest });
    expect(fs.existsSync(`${h.workspace}/way/fifo`)).toBe(false);
  });

  it('is not touched when the snapshot cannot be brought back', async () => {
    const { engine, taken } = await captured();
    await engine.close();
    fs.writeFileSync(`${h.storeDir}/segments/000001.seg`, '');
    const again = await h.engine({ limits, clear });
    for (let n = 0; n < 420; n++) fs.writeFileSync(`${h.workspace}/src/n${n}`, '');
    fs.writeFileSync(`${h.workspace}/src/later`, 'kept');
    await expect(again.restore(taken.id)).rejects.toMatchObject({ code: 'AF_SNAPSHOT_OBJECT_CORRUPT' });
    expect(fs.readFileSync(`${h.workspace}/src/later`, 'utf8')).toBe('kept');
  });
});
