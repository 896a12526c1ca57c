import fs from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Harness } from '../testing/harness.ts';

let h: Harness;
beforeEach(() => {
  h = new Harness();
});
afterEach(() => h.dispose());

const MIB = 1024 * 1024;

/** Bytes that a file takes on the disk. */
function onDisk(path: string): number {
  return fs.statSync(path).blocks * 512;
}

/** A file of `size` bytes with some text at these places and holes elsewhere. */
function sparse(path: string, size: number, places: readonly number[]): void {
  const fd = fs.openSync(path, 'w');
  for (const at of places) fs.writeSync(fd, 'not zero', at);
  fs.ftruncateSync(fd, size);
  fs.closeSync(fd);
}

test.each([
  ['a hole at the end', [0]],
  ['a hole in front', [64 * MIB - 8]],
  ['holes between', [5 * MIB + 4090, 40 * MIB]],
  ['nothing but a hole', []],
])('a long file with %s takes little of the store, and comes back with its holes, also after a collection', async (_, places) => {
  const path = join(h.workspace, 'sparse');
  const garbage = join(h.workspace, 'garbage');
  fs.writeFileSync(garbage, 'x'.repeat(900_000));
  sparse(path, 64 * MIB, places);
  const engine = await h.engine({ retention: { newest: 1, labels: ['initial'], slack: 9 } });
  fs.appendFileSync(garbage, 'y');
  await engine.take();
  fs.truncateSync(garbage, 900_000);
  fs.utimesSync(garbage, 1, 1);
  const before = h.describe();
  await engine.take({ label: 'initial', maxBytes: 8 * MIB });
  fs.rmSync(path);
  await engine.take();
  expect((await engine.collect()).removed).toEqual(['s0001']);
  const fresh = await h.engine();
  await fresh.restore('s0002');
  expect(h.describe()).toEqual(before);
  expect(onDisk(path)).toBeLessThan(MIB);
  const segments = join(h.storeDir, 'segments');
  const stored = fs.readdirSync(segments).reduce((sum, name) => sum + onDisk(join(segments, name)), 0);
  expect(stored).toBeLessThan(8 * MIB);
});

test('a collection counts as freed what the disk gets back, and not the holes', async () => {
  const path = join(h.workspace, 'sparse');
  sparse(path, 64 * MIB, [0]);
  const engine = await h.engine({ retention: { newest: 1, labels: [], slack: 9 } });
  await engine.take();
  fs.rmSync(path);
  await engine.take();
  const { freedBytes, freedObjects } = await engine.collect();
  expect(freedObjects).toBe(1);
  expect(freedBytes).toBeGreaterThan(0);
  expect(freedBytes).toBeLessThan(8 * MIB);
});

test('a short file of zeros is unchanged', async () => {
  const path = join(h.workspace, 'zeros');
  fs.writeFileSync(path, Buffer.alloc(10_001));
  const engine = await h.engine();
  await engine.take();
  fs.rmSync(path);
  await engine.restore('s0001');
  expect(fs.readFileSync(path)).toEqual(Buffer.alloc(10_001));
});
