import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeTree } from '../snapshot/testing/harness.ts';
import { applyOperations, operations, type TreeOperation } from '../snapshot/testing/treeOps.ts';
import type { Harness } from '../testing/index.ts';
import { load, unload } from './testing/carry.ts';
import { startRealKeeper } from './testing/pair.ts';

const RUNS = Number(process.env['DURABLE_RUNS'] ?? 20);
const SEED = Number(process.env['AGENTFLEET_SEED'] ?? 1);

const tree = ({ workspace, dir }: Harness): readonly string[] => {
  const inodes = new Map<string, string>();
  return [...describeTree(workspace, 'workspace', inodes), ...describeTree(`${dir}/home`, 'home', inodes)];
};

/** Random trees are exported from a keeper and adopted, complete, by a fresh one. */
async function comesBack(sequences: readonly (readonly TreeOperation[])[], partBytes: number): Promise<void> {
  const [old, next] = [await startRealKeeper(), await startRealKeeper()];
  try {
    const states: (readonly string[])[] = [];
    for (const sequence of sequences) {
      applyOperations(old.dir, sequence);
      await old.client().takeSnapshot();
      states.push(tree(old));
    }
    const cargo = await load(old.client(), partBytes);
    await unload(next.client(2), cargo);
    for (const [at, { id, manifestDigest }] of cargo.snapshots.entries()) {
      expect(await next.client(2).restore(id)).toMatchObject({ verified: true, manifestDigest });
      expect(tree(next)).toEqual(states[at]);
    }
    expect((await next.client(2).audit()).ok).toBe(true);
  } finally {
    await old[Symbol.asyncDispose]();
    await next[Symbol.asyncDispose]();
  }
}

let umask = 0;
beforeAll(() => {
  umask = process.umask(0o022);
});
afterAll(() => void process.umask(umask));

test(`any trees come back exactly in a fresh keeper (seed ${SEED})`, { timeout: 600_000 }, async () => {
  const parts = fc.constantFrom(1000, 400_000, 16_777_216);
  await fc.assert(fc.asyncProperty(fc.array(operations, { minLength: 1, maxLength: 3 }), parts, comesBack), { numRuns: RUNS, seed: SEED });
});
