import assert from 'node:assert/strict';
import { Harness } from './harness.ts';
import { applyOperations, type TreeOperation } from './treeOps.ts';

/**
 * The promise of the engine on one random history: two states of a tree, a third on top, and back
 * to the first, to the second, and, with an engine that remembers nothing, to the first again.
 */
export async function assertRoundTrip(sequences: readonly (readonly TreeOperation[])[]): Promise<void> {
  const [setup = [], first = [], second = []] = sequences;
  const harness = new Harness();
  try {
    applyOperations(harness.dir, setup);
    const engine = await harness.engine();
    const before = harness.describe();
    const taken = await engine.take();
    assert.deepEqual(harness.describe(), before);
    applyOperations(harness.dir, first);
    const after = harness.describe();
    await engine.take();
    applyOperations(harness.dir, second);

    await engine.restore('s0001');
    assert.deepEqual(harness.describe(), before);
    await engine.restore('s0002');
    assert.deepEqual(harness.describe(), after);

    const fresh = await harness.engine();
    await fresh.restore('s0001');
    assert.deepEqual(harness.describe(), before);
    assert.equal((await fresh.scan()).digest, taken.manifestDigest);
  } finally {
    await harness.dispose();
  }
}
