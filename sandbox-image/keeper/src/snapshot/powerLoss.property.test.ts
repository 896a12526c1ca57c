import * as fc from 'fast-check';
import fs from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Retention } from './cas/collector.ts';
import { Harness } from './testing/harness.ts';
import { powerLosses } from './testing/powerLoss.ts';
import { applyOperations, operations, type TreeOperation } from './testing/treeOps.ts';

const SEED = Number(process.env['SNAPSHOT_SEED'] ?? process.env['AGENTFLEET_SEED'] ?? 1);

/** Takes, restores and collects while the state after every possible loss of power is kept, and checks all of it. */
async function assertDurable(steps: readonly (readonly TreeOperation[])[]): Promise<void> {
  const harness = new Harness();
  try {
    const retention: Retention = { newest: 2, labels: ['initial'], slack: Number.POSITIVE_INFINITY };
    const digests = new Map<string, string>();
    fs.mkdirSync(harness.storeDir, { recursive: true });
    const made = await powerLosses(harness.storeDir, join(harness.dir, 'losses'), async (promised) => {
      const engine = await harness.engine({ retention });
      for (const [at, step] of steps.entries()) {
        applyOperations(harness.dir, step);
        fs.writeFileSync(join(harness.workspace, 'filler'), `${at} `.repeat(10_000));
        const { id, manifestDigest } = await engine.take(at === 0 ? { label: 'initial' } : {});
        digests.set(id, manifestDigest);
        promised.add(id);
      }
      await engine.restore('s0001');
      // Snapshots that a collection removes are no longer promised from its start.
      const kept = new Set(['s0001', ...[...promised].slice(-2)]);
      for (const id of promised) if (!kept.has(id)) promised.delete(id);
      await engine.collect();
      await engine.close();
    });
    for (const { dir, loss, promised } of made) {
      const survivor = await harness.engine({ storeDir: dir, retention });
      const there = survivor.list().map(({ id }) => id);
      expect([loss, promised.filter((id) => !there.includes(id))]).toEqual([loss, []]);
      for (const id of promised) expect((await survivor.manifest(id)).digest).toBe(digests.get(id));
      const { broken } = await survivor.scrub();
      expect([loss, broken.filter((id) => promised.includes(id))]).toEqual([loss, []]);
      await survivor.close();
    }
  } finally {
    await harness.dispose();
  }
}

test(`a loss of power at any instant takes nothing that was promised (seed ${SEED})`, { timeout: 300_000 }, async () => {
  const histories = fc.array(operations, { minLength: 3, maxLength: 4 });
  await fc.assert(fc.asyncProperty(histories, assertDurable), { numRuns: 3, seed: SEED });
});
