import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { rails } from './index.ts';
import { railsPage } from './testing/page.ts';

test('README.md has what the tables have', async () => {
  expect(await readFile(new URL('README.md', import.meta.url), 'utf8')).toBe(railsPage());
});

test('the page is short and ids are distinct', () => {
  expect(railsPage().split('\n').length).toBeLessThanOrEqual(61);
  expect(new Set(rails.map((rail) => rail.id)).size).toBe(rails.length);
});
