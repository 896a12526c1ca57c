import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DurableBench, live, noise, notes, records, signal, tree } from './testing/bench.ts';

let bench: DurableBench;
const [first, second] = [noise(32), noise(32)];

beforeEach(() => {
  bench = new DurableBench();
  bench.key = first;
});
afterEach(() => bench[Symbol.asyncDispose]());

/** The pool gets a new key; the old one stays as an earlier key, or is removed. */
function rotate(keep: boolean): void {
  bench.key = second;
  bench.earlierKeys = keep ? [first] : [];
}

describe('a key that is exchanged', () => {
  it('leaves blobs of the key before readable, verified', async () => {
    const { before } = await bench.lost();
    rotate(true);
    const next = await bench.elsewhere();
    await next.attach();
    expect(tree(next.keeper)).toEqual(before);
    expect(notes(await records(next.keeper, 2), 'Recovered')).toMatchObject([{ passedOver: [] }]);
  });

  it('may drop the one before when a task has two checkpoints under the new one', async () => {
    const { old, before } = await bench.lost();
    rotate(true);
    const worker = bench.worker({ epoch: 2, reported: bench.reported });
    await worker.attach(old.client(2), signal);
    await worker.checkpoint(signal);
    await old.client(2).note('More', {});
    await worker.checkpoint(signal);
    rotate(false);
    const keeper = await bench.keeper();
    await bench.worker({ epoch: 3, reported: bench.reported }).attach(keeper.client(3), signal);
    expect(tree(keeper)).toEqual(before);
    // A second task finds contents of the new key, and sends none.
    const packs = bench.store.puts('.pack').length;
    const other = await bench.keeper();
    await live(other);
    const its = bench.worker({ task: { namespace: 'team', name: 'other', uid: '2' } });
    await its.attach(other.client(), signal);
    await its.checkpoint(signal);
    expect(bench.store.puts('.pack')).toHaveLength(packs);
  });

  it('is reported when it was dropped too early, and nothing is restored', async () => {
    await bench.lost();
    rotate(false);
    const next = await bench.elsewhere();
    await expect(next.attach()).rejects.toMatchObject({ failureClass: 'Infrastructure', reason: 'CheckpointKeyWrong' });
    expect(await next.keeper.client(2).snapshots()).toEqual([]);
  });
});
