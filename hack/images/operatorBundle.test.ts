import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { operatorBundle } from './parts.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'operator-bundle-'));
  vi.stubEnv('AGENTFLEET_CACHE', folder);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

/** Bytes of the operator's code: V8 keeps a multiple of it. */
const most = 2_000_000;

test('the program of the operator image is small, has no reader of kubeconfigs, and reports it', async () => {
  const { code } = await operatorBundle();
  expect((await readFile(code.file)).length).toBeLessThan(most);
  await writeFile(join(code.file, '..', 'package.json'), '{"type":"module"}');
  const env = { POD_NAME: 'a', POD_NAMESPACE: 'b' };
  const images = Object.fromEntries(['AGENT', 'INFERENCE', 'SANDBOX', 'TOOLS'].map((part) => [`AGENTFLEET_${part}_IMAGE`, 'c']));
  const { exitCode, stderr } = await execa(process.execPath, [code.file, '--kubeconfig', '/none'], {
    env: { ...env, ...images },
    reject: false,
  });
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining('this build reads no kubeconfig')]);
});
