import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pruneImages, staleEntries } from './prune.ts';

const day = 24 * 60 * 60 * 1000;
const now = 100 * day;
const entry = (dir: string, ageDays: number, unfinished = false) => ({ dir, lastUsedMs: now - ageDays * day, unfinished });

test('only entries unused for more than 14 days are stale', () => {
  expect(staleEntries([entry('old', 15), entry('edge', 14), entry('new', 1)], now).map(({ dir }) => dir)).toEqual(['old']);
});

test('an unfinished build is stale after a day', () => {
  expect(staleEntries([entry('dead', 2, true), entry('running', 0.1, true)], now).map(({ dir }) => dir)).toEqual(['dead']);
});

test('of entries that every change builds again the eight last used stay, and those that a run of today may use', () => {
  const built = (name: string, ageDays: number) => entry(`${name}-${ageDays.toFixed(2).replace('.', '').padStart(16, '0')}`, ageDays);
  const operator = [0.1, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1].map((age) => built('operator', age));
  const fresh = Array.from({ length: 12 }, (_, at) => built('agent', at / 100));
  const rare = [1, 2].map((age) => built('operator-base', age));
  expect(staleEntries([...rare, ...operator, ...fresh], now)).toEqual(operator.slice(8));
});

test('deletes old entries of images and touches nothing else in the cache', async () => {
  const root = await mkdtemp(join(tmpdir(), 'prune-'));
  const old = new Date(Date.now() - 20 * day);
  for (const dir of ['images/old', 'images/used', 'kubernetes/old']) {
    await mkdir(join(root, dir), { recursive: true });
    await writeFile(join(root, dir, '.complete'), '');
    if (dir.endsWith('old')) await utimes(join(root, dir, '.complete'), old, old);
  }
  await mkdir(join(root, 'reproduce/run-x'), { recursive: true });
  await utimes(join(root, 'reproduce/run-x'), old, old);
  expect(await pruneImages(Date.now(), root)).toEqual([join(root, 'images/old'), join(root, 'reproduce/run-x')]);
  const left = ['images/old', 'images/used', 'kubernetes/old'].filter((dir) => existsSync(join(root, dir)));
  await rm(root, { recursive: true });
  expect(left).toEqual(['images/used', 'kubernetes/old']);
});
