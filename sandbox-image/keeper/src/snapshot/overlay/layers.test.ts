import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type LayeredRoot, Layers, type Mounter } from './layers.ts';

let dir: string;
let mounted: (readonly LayeredRoot[])[];
/** Folders to remove; removed late, as by another process. */
let leaving: string[];
beforeEach(() => {
  dir = fs.mkdtempSync(join(tmpdir(), 'layers-'));
  for (const name of ['workspace', 'home']) fs.mkdirSync(join(dir, name), { mode: 0o750 });
  mounted = [];
  leaving = [];
});
afterEach(() => fs.rmSync(dir, { recursive: true, force: true }));

/** Mounts nothing: the test writes directly into the layer of a root. */
const mounter: Mounter = async (request) => {
  if (request.t === 'remove') leaving.push(...request.paths);
  if (request.t !== 'mount') return;
  for (const path of leaving.splice(0)) fs.rmSync(path, { recursive: true, force: true });
  const missing = request.roots.flatMap(({ upper, work, lower }) => [upper, work, ...lower]).filter((path) => !fs.existsSync(path));
  expect(missing, 'directories that a mount needs').toEqual([]);
  mounted.push(request.roots);
};

async function open(): Promise<Layers> {
  const roots = ['workspace', 'home'].map((name) => ({ name, path: join(dir, name), textPath: join(dir, name) }));
  const onFailed = (error: unknown): void => expect.unreachable(String(error));
  const layers = new Layers({ dir: join(dir, 'of'), roots, mounter, flattenOver: 48, onFailed });
  await layers.open();
  layers.tidy();
  return layers;
}

/** The layer that is written to at the moment. */
function upper(): string {
  return mounted.at(-1)?.[0]?.upper ?? '';
}

function write(name: string): void {
  fs.writeFileSync(join(upper(), name), name);
}

async function take(layers: Layers, id: string): Promise<void> {
  write(id);
  await layers.freeze();
  layers.bind(id, [id]);
  layers.tidy();
}

test('each mount has a new layer and a new work directory, also after a kill', async () => {
  let layers = await open();
  for (let round = 0; round < 3; round++) {
    await take(layers, `s000${round}`);
    await layers.switchTo(`s000${round}`);
    layers.tidy();
    // Killed: its prepared layer is left over.
    layers = await open();
  }
  const works = mounted.flat().map(({ work }) => work);
  expect(new Set(works).size).toBe(works.length);
  // A start mounts the recorded layers again.
  const uppers = mounted.flat().map(({ upper }) => upper);
  expect(new Set(uppers).size).toBe(uppers.length - 2 * 3);
});

test('the next layer is ready before it is needed, and is never removed', async () => {
  const layers = await open();
  write('one');
  const made = fs.readdirSync(join(dir, 'of', 'layers')).map(Number);
  await layers.freeze();
  expect(made).toContain(Number(upper().split('/').at(-2)));
  layers.bind('s0001', ['s0001']);
  layers.tidy();
  layers.tidy();
  write('two');
  await layers.freeze();
  expect(mounted).toHaveLength(3);
});

test('the mode of a root is kept from layer to layer', async () => {
  const layers = await open();
  await take(layers, 's0001');
  fs.chmodSync(upper(), 0o701);
  await take(layers, 's0002');
  expect(fs.statSync(upper()).mode & 0o7777).toBe(0o701);
  await layers.switchTo('s0002');
  expect(fs.statSync(upper()).mode & 0o7777).toBe(0o701);
  // A command that owns it can close it; the next one has to get in again.
  fs.chmodSync(upper(), 0o2000);
  await take(layers, 's0003');
  expect(fs.statSync(upper()).mode & 0o7777).toBe(0o2700);
});
