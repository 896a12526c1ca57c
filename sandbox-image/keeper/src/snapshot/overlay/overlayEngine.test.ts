import fs from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Harness, setMetaByTouch } from '../testing/harness.ts';
import type { LayeredRoot, Mounter } from './layers.ts';
import { openOverlayEngine } from './overlayEngine.ts';

let harness: Harness;
let mounted: (readonly LayeredRoot[])[];
beforeEach(() => {
  harness = new Harness();
  mounted = [];
});
afterEach(() => harness.dispose());

/** Mounts nothing: the test writes directly into the layer of a root. */
const mounter: Mounter = async (request) => {
  if (request.t === 'mount') mounted.push(request.roots);
  if (request.t === 'remove') request.paths.forEach((path) => fs.rmSync(path, { recursive: true, force: true }));
};

test('a snapshot that a collection removed is refused before the tree is touched', async () => {
  const engine = await openOverlayEngine({
    storeDir: harness.storeDir,
    roots: [{ name: 'workspace', path: harness.workspace }],
    setMeta: setMetaByTouch,
    clock: Date,
    layersDir: join(harness.dir, 'of'),
    mounter,
    onFailed: (error) => expect.unreachable(String(error)),
    retention: { newest: 1, slack: 9, labels: [] },
  });
  const ids: string[] = [];
  for (const name of ['a', 'b']) {
    fs.writeFileSync(join(mounted.at(-1)?.[0]?.upper ?? '', name), name);
    ids.push((await engine.take()).id);
  }
  expect((await engine.collect()).removed).toEqual(['s0001']);
  const before = mounted.length;
  await expect(engine.restore(ids[0] ?? '')).rejects.toMatchObject({ code: 'AF_SNAPSHOT_UNKNOWN' });
  expect(mounted).toHaveLength(before);
  await engine.close();
});
