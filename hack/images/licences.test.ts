import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bundledPackages, licenceTexts } from './licences.ts';

test('finds scoped and nested packages once each, and none of ours', () => {
  const inputs = [
    'node_modules/b/lib/x.js',
    'node_modules/b/y.js',
    'node_modules/@s/a/z.js',
    'node_modules/b/node_modules/c/i.js',
    'protocol/src/index.ts',
  ];
  expect(bundledPackages(inputs)).toEqual(['node_modules/@s/a', 'node_modules/b', 'node_modules/b/node_modules/c']);
});

test('lists every package with its licence and its notices', async () => {
  const root = await mkdtemp(join(tmpdir(), 'licences-'));
  for (const name of ['a', 'b']) {
    await mkdir(join(root, 'node_modules', name), { recursive: true });
    await writeFile(join(root, 'node_modules', name, 'package.json'), JSON.stringify({ name, version: '1.0.0', license: 'MIT' }));
  }
  await writeFile(join(root, 'node_modules/a/LICENSE'), 'Permission is granted\n');
  await writeFile(join(root, 'node_modules/a/NOTICE.md'), 'Thanks\n');
  const text = await licenceTexts(root, ['node_modules/b/x.js', 'node_modules/a/x.js']);
  await rm(root, { recursive: true });
  expect(text).toMatch(/^a 1\.0\.0 \(MIT\)\n\nPermission is granted\n\nThanks\n\n-+\n\nb 1\.0\.0 \(MIT\)\n$/);
});
