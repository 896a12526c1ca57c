import { expect, test } from 'vitest';
import { compareBuilds } from './reproduce.ts';

const image = (ref: string, digest = 'd', archiveSha256 = 's') => ({ ref, digest, archiveSha256 });

test('equal builds have no difference', () => {
  expect(compareBuilds([image('a'), image('b')], [image('b'), image('a')]).different).toEqual([]);
});

test.each([
  ['digest', [image('a', 'x')]],
  ['archive', [image('a', 'd', 'x')]],
  ['absence', []],
])('a difference of %s is reported', (_, second) => {
  expect(compareBuilds([image('a')], second)).toEqual({ same: [], different: ['a'] });
});

test('a key that changed names both refs', () => {
  expect(compareBuilds([image('a:1')], [image('a:2')]).different).toEqual(['a:1', 'a:2']);
});
