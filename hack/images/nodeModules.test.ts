import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { llamaModules, nodeModules, npmModules } from './nodeModules.ts';
import { repository } from './parts.ts';
import { PartUnavailable } from './run.ts';

test.each([npmModules, llamaModules])('the lock of $name binds each package by its content and names no registry', async ({ folder }) => {
  const text = await readFile(join(repository, folder, 'package-lock.json'), 'utf8');
  expect(text).not.toContain('"resolved"');
  // URLs of funding, not of package sources.
  const hosts = [...text.matchAll(/https?:\/\/([^/"]+)/g)].map(([, host]) => host);
  expect(hosts.filter((host) => host !== 'github.com' && host !== 'opencollective.com')).toEqual([]);
  const { packages } = JSON.parse(text) as {
    packages: Record<string, { integrity?: string; optional?: boolean; inBundle?: boolean }>;
  };
  const unbound = Object.entries(packages).filter(([path, entry]) => path !== '' && !entry.integrity && !entry.optional && !entry.inBundle);
  expect(unbound).toEqual([]);
});

test('binaries for another architecture are unavailable', async () => {
  const other = process.arch === 'x64' ? 'arm64' : 'x64';
  await expect(nodeModules({ ...llamaModules, arch: other })).rejects.toThrow(PartUnavailable);
});
