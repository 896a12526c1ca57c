import { expect, test, vi } from 'vitest';
import { makeEntry, type ManifestEntry, type Tree } from '../base/manifest.ts';
import { planRestore } from './plan.ts';

const folder = (path: string, mode: number): ManifestEntry =>
  makeEntry({ path, type: 'd', mode, size: 0, hash: '', mtimeNs: 0n, link: '' });
const file = (path: string, mtimeNs: bigint): ManifestEntry =>
  makeEntry({ path, type: 'f', mode: 0o644, size: 1, hash: 'x'.repeat(32), mtimeNs, link: '' });
const tree = (entries: readonly ManifestEntry[]): Tree => ({
  entries: [...entries].sort((a, b) => (a.path < b.path ? -1 : 1)),
  skipped: [],
});

test('closed folders are opened where something below them changes, and only there', () => {
  const closed = ['w/a', 'w/a/b', 'w/c', 'w/ab'].map((path) => folder(path, 0o500));
  const current = tree([folder('w', 0o755), ...closed, file('w/a/b/f', 1n), file('w/c/f', 1n)]);
  const target = tree([folder('w', 0o755), ...closed, file('w/a/b/f', 2n), file('w/c/f', 1n)]);
  expect(planRestore(current, target).open.map(({ path }) => path)).toEqual(['w/a', 'w/a/b']);
});

test('many closed folders beside many changed files are not compared with each other', () => {
  const many = Array.from({ length: 2000 }, (_, at) => at);
  const closed = many.map((at) => folder(`w/closed/${at}`, 0o500));
  const files = (mtimeNs: bigint): ManifestEntry[] => many.map((at) => file(`w/files/${at}`, mtimeNs));
  const [current, target] = [tree([...closed, ...files(1n)]), tree([...closed, ...files(2n)])];
  const comparisons = vi.spyOn(String.prototype, 'startsWith');
  const plan = planRestore(current, target);
  const { length } = comparisons.mock.calls;
  comparisons.mockRestore();
  expect([plan.open.length, plan.times.length]).toEqual([0, many.length]);
  expect(length).toBeLessThan(10 * many.length);
});
