import * as fc from 'fast-check';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, test } from 'vitest';
import { assertRevertTrip } from '../testing/revertTrip.ts';
import { operations } from '../testing/treeOps.ts';

const RUNS = Number(process.env['SNAPSHOT_RUNS'] ?? 30);
const SEED = Number(process.env['SNAPSHOT_SEED'] ?? process.env['AGENTFLEET_SEED'] ?? 1);
const PATH = process.env['PATH'] ?? '/usr/bin:/bin';
const hasBusybox = spawnSync('busybox', ['true']).status === 0;
const applets = fs.mkdtempSync(join(tmpdir(), 'af-busybox-'));
const histories = fc.array(operations, { minLength: 2, maxLength: 2 });

beforeAll(() => {
  if (hasBusybox) spawnSync('busybox', ['--install', '-s', applets]);
  else console.warn('SKIPPED: no busybox here, revert.sh is not tried with it');
});

afterAll(() => fs.rmSync(applets, { recursive: true }));

test(`revert.sh and redo.sh are exact with sh (seed ${SEED})`, { timeout: 600_000 }, async () => {
  const shell = { command: ['sh'], path: PATH, exactTimes: true };
  await fc.assert(
    fc.asyncProperty(histories, (sequences) => assertRevertTrip(shell, sequences)),
    { numRuns: RUNS, seed: SEED },
  );
});

test.skipIf(!hasBusybox)(`the same with busybox alone, but for fractions of seconds (seed ${SEED})`, { timeout: 600_000 }, async () => {
  const shell = { command: [join(applets, 'sh')], path: applets, exactTimes: false };
  await fc.assert(
    fc.asyncProperty(histories, (sequences) => assertRevertTrip(shell, sequences)),
    { numRuns: Math.ceil(RUNS / 3), seed: SEED },
  );
});
