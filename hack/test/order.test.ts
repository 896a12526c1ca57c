import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { longestFirst, readSeconds } from './order.ts';

it('begins long files, then the others as they came, then those that run alone', () => {
  const known = { alone: ['kills'], seconds: { short: 5, long: 50 } };
  expect(longestFirst(['b', 'short', 'kills', 'a', 'long'], known)).toEqual(['long', 'short', 'b', 'a', 'kills']);
  expect(longestFirst([], known)).toEqual([]);
});

it('names files that are there', () => {
  const { alone, seconds } = readSeconds();
  const gone = [...alone, ...Object.keys(seconds)].filter((name) => !existsSync(new URL(`../../${name}`, import.meta.url)));
  expect(gone).toEqual([]);
});
