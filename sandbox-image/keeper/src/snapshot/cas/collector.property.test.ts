import * as fc from 'fast-check';
import fs from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Retention } from './collector.ts';
import { crashPoints } from '../testing/crashPoints.ts';
import { Harness } from '../testing/harness.ts';
import { applyOperations, operations, type TreeOperation } from '../testing/treeOps.ts';

const RUNS = Math.ceil(Number(process.env['SNAPSHOT_RUNS'] ?? 80) / 10);
const SEED = Number(process.env['SNAPSHOT_SEED'] ?? process.env['AGENTFLEET_SEED'] ?? 1);

interface History {
  readonly steps: readonly (readonly TreeOperation[])[];
  readonly labelled: readonly boolean[];
  readonly newest: number;
  /** At which crash points everything is restored. */
  readonly points: readonly number[];
}

const histories: fc.Arbitrary<History> = fc.record({
  steps: fc.array(operations, { minLength: 4, maxLength: 7 }),
  labelled: fc.array(fc.boolean(), { minLength: 7, maxLength: 7 }),
  newest: fc.integer({ min: 1, max: 3 }),
  points: fc.array(fc.nat(), { minLength: 6, maxLength: 6 }),
});

/** Takes a history, collects, and opens the store as a kill at some instants of the collection left it. */
async function assertCrashSafe({ steps, labelled, newest, points }: History): Promise<void> {
  const harness = new Harness();
  try {
    const retention: Retention = { newest, labels: ['initial'], slack: Number.POSITIVE_INFINITY };
    const engine = await harness.engine({ retention });
    const digests = new Map<string, string>();
    for (const [at, step] of steps.entries()) {
      applyOperations(harness.dir, step);
      fs.writeFileSync(join(harness.workspace, 'filler'), `${at} `.repeat(10_000));
      const { id, manifestDigest } = await engine.take(labelled[at] === true ? { label: 'initial' } : {});
      digests.set(id, manifestDigest);
    }
    const copies = join(harness.dir, 'copies');
    const made = await crashPoints(harness.storeDir, copies, () => engine.collect());
    const kept = engine.list().map(({ id }) => id);
    await engine.close();
    const restored = new Set(points.map((at) => at % made.length));
    for (const [point, storeDir] of made.entries()) {
      const survivor = await harness.engine({ storeDir, retention });
      const there = survivor.list().map(({ id }) => id);
      expect(kept.filter((id) => !there.includes(id))).toEqual([]);
      // Every manifest at every instant; the contents, which take longer, at some.
      for (const id of there) expect((await survivor.manifest(id)).digest).toBe(digests.get(id));
      if (!restored.has(point)) {
        await survivor.close();
        continue;
      }
      for (const id of kept) expect(await survivor.restore(id)).toMatchObject({ verified: true, manifestDigest: digests.get(id) });
      expect((await survivor.collect()).kept).toBe(survivor.list().length);
      for (const id of kept) expect((await survivor.restore(id)).verified).toBe(true);
      await survivor.close();
    }
  } finally {
    await harness.dispose();
  }
}

test(`a kill at any instant of a collection harms nothing that stays (seed ${SEED})`, { timeout: 600_000 }, async () => {
  await fc.assert(fc.asyncProperty(histories, assertCrashSafe), { numRuns: RUNS, seed: SEED });
});
