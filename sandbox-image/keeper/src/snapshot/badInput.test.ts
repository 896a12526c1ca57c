import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Harness } from './testing/harness.ts';

let h: Harness;
beforeEach(() => {
  h = new Harness();
});
const HOUR = 3_600_000;
const full = process.env['AGENTFLEET_FULL'] === '1';
// A million files are removed one by one, too.
afterEach(() => h.dispose(), full ? HOUR : 600_000);

const GIB = 2 ** 30;

function write(name: string, content: string): void {
  fs.writeFileSync(join(h.workspace, name), content);
}

test('a clock that is set forth and back misses nothing, and keeps the order of the snapshots', async () => {
  const offset = { ms: 0 };
  const engine = await h.engine({ clock: { now: () => Date.now() + offset.ms } });
  const states: string[][] = [];
  for (const [step, ms] of [0, HOUR, -HOUR, 0, -24 * HOUR, HOUR].entries()) {
    offset.ms = ms;
    write('same-size', String(step));
    fs.utimesSync(join(h.workspace, 'same-size'), 1, 1);
    states.push(h.describe());
    await engine.take();
  }
  expect(engine.list().map(({ id }) => id)).toEqual(['s0001', 's0002', 's0003', 's0004', 's0005', 's0006']);
  for (const [step, state] of states.entries()) {
    await engine.restore(`s000${step + 1}`);
    expect(h.describe()).toEqual(state);
  }
});

test('a device is never opened: named, left alone when it was there, removed when it came since', async (context) => {
  const make = (name: string) => spawnSync('mknod', [join(h.workspace, name), 'c', '1', '9']).status === 0;
  if (!make('old')) {
    console.warn('SKIPPED: no right to make a device');
    context.skip();
  }
  const engine = await h.engine();
  expect(await engine.take()).toMatchObject({ entries: 0, skipped: [{ path: 'workspace/old', kind: 'device' }] });
  make('new');
  await engine.restore('s0001');
  expect(fs.readdirSync(h.workspace)).toEqual(['old']);
});

// Its offsets are beyond 31 bits, in the long run beyond 32: each byte of a hole is hashed.
const sparse = full ? 5 * GIB : 2.25 * GIB;
test('a sparse file larger than offsets of 31 bits costs little room, and is restored with its holes', { timeout: 600_000 }, async () => {
  const path = join(h.workspace, 'sparse');
  const fd = fs.openSync(path, 'w');
  for (const at of [0, sparse - GIB / 8 + 12_345]) fs.writeSync(fd, 'not zero', at);
  fs.ftruncateSync(fd, sparse);
  fs.closeSync(fd);
  const engine = await h.engine();
  const { bytes } = await engine.take({ maxBytes: 8 * 1024 * 1024 });
  expect(bytes).toBe(sparse);
  fs.truncateSync(path, 10);
  expect((await engine.restore('s0001')).verified).toBe(true);
  const { size, blocks } = fs.statSync(path);
  expect(size).toBe(sparse);
  expect(blocks * 512).toBeLessThan(4 * 1024 * 1024);
});

const many = full ? 1_000_000 : 30_000;
test(`${many} small files are taken, changed and brought back`, { timeout: full ? 3_600_000 : 600_000 }, async () => {
  for (let at = 0; at < many; at++) {
    const dir = join(h.workspace, `d${Math.floor(at / 500)}`);
    if (at % 500 === 0) fs.mkdirSync(dir);
    fs.writeFileSync(join(dir, `f${at}`), String(at % 1000));
  }
  const engine = await h.engine();
  const first = await engine.take();
  expect(first).toMatchObject({ files: many, addedObjects: 1000 });
  write('d0/f0', 'changed');
  fs.rmSync(join(h.workspace, 'd1'), { recursive: true });
  expect(await engine.take()).toMatchObject({ files: many - 500, addedObjects: 1 });
  expect(await engine.restore('s0001')).toMatchObject({ verified: true, manifestDigest: first.manifestDigest, created: 501, modified: 1 });
});
