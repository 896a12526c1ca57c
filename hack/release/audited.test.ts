// `npm audit --omit=dev` looks at what the lock file does not mark as of development: all that bundles have inside must be there.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { machineParts, type Parts } from '../images/catalogue.ts';
import { repository } from '../images/parts.ts';
import { bundled } from './contents.ts';

let folder: string;
let developed: ReadonlySet<string>;
let parts: Parts;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'audited-'));
  vi.stubEnv('AGENTFLEET_CACHE', folder);
  const lock = JSON.parse(await readFile(join(repository, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly version?: string; readonly dev?: boolean }>>;
  };
  const found = Object.entries(lock.packages).filter(([, { dev }]) => dev === true);
  developed = new Set(found.map(([path, { version = '' }]) => `${path.split('node_modules/').at(-1) ?? ''} ${version}`));
  parts = machineParts();
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

const programs = ['operator', 'results', 'dashboard', 'page', 'otlp', 'agent', 'inference', 'keeper', 'keeperSyntax', 'keeperMcp'] as const;

it.for(programs)('the audit of a release sees all packages that are in %s', { timeout: 120_000 }, async (program) => {
  const { licences } = await parts[program]();
  const packages = bundled(await readFile(licences.file, 'utf8')).map(({ name, version }) => `${name} ${version}`);
  expect(packages.length).toBeGreaterThan(0);
  expect(packages.filter((one) => developed.has(one))).toEqual([]);
});
