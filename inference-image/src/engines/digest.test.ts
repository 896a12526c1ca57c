import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { codeDigest } from '../base/served.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'digest-'));
});
afterEach(() => rm(folder, { recursive: true }));

it('is the same for the same code and weights, another for others', async () => {
  const weights = join(folder, 'w');
  await writeFile(weights, 'one');
  const first = await codeDigest('synth', [weights]);
  expect(first).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(await codeDigest('synth', [weights])).toBe(first);
  expect(await codeDigest('replay', [weights])).not.toBe(first);
  await writeFile(weights, 'two');
  expect(await codeDigest('synth', [weights])).not.toBe(first);
});
