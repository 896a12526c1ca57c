import { linkSync, mkdirSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Harness } from '../testing/harness.ts';
import type { Below, TreeChanges } from './scanner.ts';

let h: Harness;
/** Changes reported to the next scan. */
let reported: Below | null;
let seen: number;
const changes: TreeChanges = {
  since: () => (reported === null ? null : new Map([['workspace', reported]])),
  seen: () => void seen++,
};

beforeEach(() => {
  h = new Harness();
  reported = null;
  seen = 0;
});
afterEach(() => h.dispose());

/** The digest by an engine that is informed of changes must be that of one that looks at everything. */
async function sameAsLookingAtAll(): Promise<void> {
  const engine = await h.engine({ changes });
  await engine.take();
  const root = h.workspace;
  writeFileSync(join(root, 'a/new'), 'n');
  rmSync(join(root, 'a/two'));
  renameSync(join(root, 'b'), join(root, 'c'));
  writeFileSync(join(root, 'b'), 'a file now');
  rmSync(join(root, 'link1'));
  reported = new Map<string, Below | null>([
    [
      'a',
      new Map([
        ['new', null],
        ['two', null],
      ]),
    ],
    ['b', null],
    ['c', null],
    ['link1', null],
  ]);
  const digest = (await engine.scan()).digest;
  reported = null;
  expect((await engine.scan()).digest).toBe(digest);
  expect(seen).toBe(3);
}

function plant(): void {
  for (const dir of ['a', 'b', 'still']) mkdirSync(join(h.workspace, dir));
  for (const file of ['a/one', 'a/two', 'b/x', 'still/same', 'link1']) writeFileSync(join(h.workspace, file), file);
  for (const name of ['link2', 'link3']) linkSync(join(h.workspace, 'link1'), join(h.workspace, name));
}

test('reported changes are read, with files that became folders and links of one file', async () => {
  plant();
  await sameAsLookingAtAll();
});

test('paths reported as unchanged are not checked', async () => {
  plant();
  const engine = await h.engine({ changes });
  const before = await engine.take();
  writeFileSync(join(h.workspace, 'still/same'), 'other');
  reported = new Map();
  expect((await engine.scan()).digest).toBe(before.manifestDigest);
  reported = new Map([['still', new Map([['same', null]])]]);
  utimesSync(join(h.workspace, 'still/same'), 1, 1);
  expect((await engine.scan()).digest).not.toBe(before.manifestDigest);
  expect(readdirSync(h.workspace)).toContain('still');
});
