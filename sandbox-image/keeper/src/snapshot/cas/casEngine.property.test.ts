import * as fc from 'fast-check';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { assertRoundTrip } from '../testing/roundTrip.ts';
import { operations } from '../testing/treeOps.ts';

const RUNS = Number(process.env['SNAPSHOT_RUNS'] ?? 30);
const SEED = Number(process.env['SNAPSHOT_SEED'] ?? process.env['AGENTFLEET_SEED'] ?? 1);
const NOBODY = 10_001;

test(`any changes are taken back and done again exactly (seed ${SEED})`, { timeout: 600_000 }, async () => {
  const property = fc.asyncProperty(fc.array(operations, { minLength: 3, maxLength: 3 }), assertRoundTrip);
  await fc.assert(property, { numRuns: RUNS, seed: SEED });
});

test(`the same without root, where modes really close things (seed ${SEED})`, { timeout: 600_000 }, () => {
  const script = fileURLToPath(new URL('../testing/unprivileged.ts', import.meta.url));
  const identity = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  const args = [script, String(SEED), String(Math.ceil(RUNS / 3))];
  const { status, stderr } = spawnSync(process.execPath, args, {
    ...identity,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], TMPDIR: '/tmp' },
  });
  expect(stderr).toBe('');
  expect(status).toBe(0);
});
