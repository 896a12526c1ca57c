import { expect, it } from 'vitest';
import { foldersAbove } from './paths.ts';

it.each<readonly [readonly string[], readonly string[]]>([
  [[], []],
  [['a'], []],
  [
    ['a/b/c', 'a/b/d', 'a/e', 'f/g'],
    ['a/b', 'a', 'f'],
  ],
  [
    ['/w/a', '/w/b/c'],
    ['/w', '', '/w/b'],
  ],
])('folders above %j are %j', (paths, folders) => {
  expect([...foldersAbove(paths)]).toEqual(folders);
});

it('knows the folders of very many paths', () => {
  const paths = Array.from({ length: 200_000 }, (_, n) => `node_modules/${n % 5000}/lib/${n}`);
  expect(foldersAbove(paths).size).toBe(10_001);
});
