import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StoreFailure } from '../store/index.ts';
import { createSealer } from './seal.ts';
import { DurableBench, knowsNothing, live, noise, notes, records, signal, tree } from './testing/bench.ts';

let bench: DurableBench;

beforeEach(() => {
  bench = new DurableBench();
});
afterEach(() => bench[Symbol.asyncDispose]());

describe('bad input', () => {
  it.each([
    ['a pack that was altered', (): void => bench.alter(bench.store.keys('.pack').find((key) => onlyInNewest(key)) ?? '')],
    [
      'an index that was cut',
      (): void =>
        void bench.store.objects.set(bench.newest(), {
          content: bench.store.objects.get(bench.newest())?.content.subarray(0, -40) ?? Buffer.alloc(0),
          modifiedAt: 0,
        }),
    ],
    [
      'an index that is something else',
      (): void => void bench.store.objects.set(bench.newest(), { content: Buffer.from('{}'), modifiedAt: 0 }),
    ],
    [
      'a manifest that is gone',
      (): void => void bench.store.objects.delete(bench.store.keys('.manifest').find((key) => onlyInNewest(key)) ?? ''),
    ],
  ])('an older checkpoint is taken instead of one with %s', async (_, damage) => {
    const { snapshots } = await bench.lost();
    damage();
    const next = await bench.elsewhere();
    await next.attach();
    const [noted] = notes(await records(next.keeper, 2), 'Recovered') as { passedOver: string[] }[];
    // Damage to a pack of both affects both, which another test covers.
    expect(noted?.passedOver).toHaveLength(1);
    expect((await next.keeper.client(2).snapshots()).map(({ id }) => id)).toEqual(snapshots.slice(0, 2).map(({ id }) => id));
  });

  const everyPack = (): void => bench.store.keys('.pack').forEach((key) => bench.alter(key));
  it.each([
    ['every pack is altered', 'CheckpointDamaged', everyPack],
    [
      'every checkpoint is cut',
      'CheckpointDamaged',
      (): void =>
        bench.store.keys('.json').forEach((key) => void bench.store.objects.set(key, { content: Buffer.from('{"form'), modifiedAt: 0 })),
    ],
    [
      'every pack is gone',
      'CheckpointMissing',
      (): void => bench.store.keys('.pack').forEach((key) => void bench.store.objects.delete(key)),
    ],
    ['all of it is gone', 'CheckpointMissing', (): void => bench.store.objects.clear()],
    ['every file of the log is altered', 'CheckpointDamaged', (): void => bench.store.keys('/log/').forEach((key) => bench.alter(key))],
    ['the store is away', 'CheckpointUnreachable', (): void => bench.store.goAway()],
    ['the pool has a key now', 'CheckpointKeyWrong', (): void => void (bench.key = noise(32))],
  ])('when %s the attempt ends with %s, and the keeper knows nothing', async (_, reason, damage) => {
    await bench.lost();
    damage();
    const next = await bench.elsewhere();
    await expect(next.attach()).rejects.toMatchObject({ failureClass: 'Infrastructure', reason });
    expect(await knowsNothing(next)).toBe(true);
  });

  it.each([
    ['another key', noise(32)],
    ['none', null],
  ])('what was encrypted is not read with %s', async (_, key) => {
    bench.key = noise(32);
    await bench.lost();
    bench.key = key;
    const next = await bench.elsewhere();
    await expect(next.attach()).rejects.toMatchObject({ failureClass: 'Infrastructure', reason: 'CheckpointKeyWrong' });
  });

  /** Returns the key of the file with an intent that was stored after the only checkpoint of a lost sandbox. */
  async function lostAfterIntent(): Promise<string> {
    const old = await bench.keeper();
    await live(old);
    const worker = bench.worker();
    await worker.attach(old.client(), signal);
    await worker.checkpoint(signal);
    await old.client().note('Intent', { command: 'git push' });
    await worker.intent(signal);
    return bench.store.keys('/log/').at(-1) ?? '';
  }

  const refusedAs =
    (code: 'Unavailable' | 'Denied' | 'Corrupt') =>
    (key: string): void => {
      bench.store.before = (call) => {
        if (call === `get ${key}`) throw new StoreFailure(code, call);
      };
    };
  it.each<readonly [string, string, (key: string) => Promise<void> | void]>([
    ['cannot be reached', 'CheckpointUnreachable', refusedAs('Unavailable')],
    ['may not be read', 'CheckpointUnreachable', refusedAs('Denied')],
    ['is on a disk that fails', 'CheckpointDamaged', refusedAs('Corrupt')],
    ['was altered', 'CheckpointDamaged', (key: string): void => bench.alter(key)],
    [
      'is encrypted with another key',
      'CheckpointKeyWrong',
      async (key: string) =>
        void bench.store.objects.set(key, { content: await createSealer(noise(32)).seal(key, Buffer.from('{}\n')), modifiedAt: 0 }),
    ],
  ])('an intent after the checkpoint whose file %s is not left out: %s', async (_, reason, damage) => {
    const key = await lostAfterIntent();
    await damage(key);
    for (const reported of [bench.reported, {}]) {
      const keeper = await bench.keeper();
      const refused = bench.worker({ epoch: 2, reported }).attach(keeper.client(2), signal);
      await expect(refused).rejects.toMatchObject({ failureClass: 'Infrastructure', reason });
      await expect(refused).rejects.toThrow(key);
    }
    bench.store.comeBack();
  });

  it('a file of the log that was removed since it was listed is passed over, and so is one whose records others have', async () => {
    const key = await lostAfterIntent();
    const next = await bench.elsewhere();
    await next.attach();
    await next.keeper.client(2).note('Intent', { command: 'git push again' });
    await next.worker.intent(signal);
    bench.alter(key); // the file of the newer assignment begins with the first record
    const gone = `${key.slice(0, -10)}0000000009`;
    bench.store.objects.set(gone, { content: Buffer.from('swept'), modifiedAt: 0 });
    bench.store.before = (call) => void (call === `get ${gone}` && bench.store.objects.delete(gone));
    const third = await bench.keeper();
    await bench.worker({ epoch: 3, reported: bench.reported }).attach(third.client(3), signal);
    expect(bench.store.calls).toContain(`get ${gone}`);
    expect(notes(await records(third, 3), 'Intent')).toMatchObject([{ command: 'git push' }, { command: 'git push again' }]);
  });

  it('a volume that came back empty is refused while a checkpoint is known, and never called restored', async () => {
    await bench.lost();
    bench.store.objects.clear();
    const next = await bench.elsewhere();
    const refused = next.attach();
    await expect(refused).rejects.toMatchObject({ failureClass: 'Infrastructure', reason: 'CheckpointMissing' });
    await expect(refused).rejects.toThrow(/the store has none of it; look at the storage of the pool/);
    expect(await knowsNothing(next)).toBe(true);
    expect(tree(next.keeper)).toEqual([]);
  });

  it('an empty sandbox of a task that had a log and no checkpoint reports that the log is lost', async () => {
    const keeper = await bench.keeper();
    await bench.worker({ epoch: 2, reported: { auditRoot: 'ab'.repeat(32) } }).attach(keeper.client(2), signal);
    const log = await records(keeper, 2);
    expect(notes(log, 'AuditGap')).toMatchObject([{ expected: 'ab'.repeat(32) }]);
    expect(bench.gaps).toBe(1);
    expect(notes(log, 'Recovered')).toEqual([]);
    expect(log.filter(({ type }) => type === 'SnapshotRestored')).toEqual([]);
  });

  it('a sandbox whose store is too small stays empty, and reports that it is full', async () => {
    const old = await bench.keeper();
    await live(old, { large: noise(4_000_000) });
    const worker = bench.worker();
    await worker.attach(old.client(), signal);
    await worker.checkpoint(signal);
    const next = await bench.elsewhere({ AGENTFLEET_STORE_LIMIT_BYTES: '3000000' });
    const refused = next.attach();
    await expect(refused).rejects.toMatchObject({ failureClass: 'Infrastructure', reason: 'CheckpointNotAdopted' });
    await expect(refused).rejects.toThrow(/room|full/);
    expect(await knowsNothing(next)).toBe(true);
  });

  it('contents of a keeper that lies are not stored: all tasks of the pool share them', async () => {
    const old = await bench.keeper();
    await live(old);
    const client = old.client();
    const honest = client.exportParts.bind(client);
    client.exportParts = async (...asked) => {
      const parts = Buffer.from(await honest(...asked));
      parts[parts.length - 1] = (parts.at(-1) ?? 0) ^ 1;
      return parts;
    };
    const worker = bench.worker();
    await worker.attach(client, signal);
    await expect(worker.checkpoint(signal)).rejects.toThrow(/^object [0-9a-f]{64} of the sandbox is damaged/);
    expect(bench.store.keys('.pack')).toEqual([]);
  });

  it('a pack that is lost before the checkpoint names it is stored again', async () => {
    const { old, worker } = await bench.lost();
    writeFileSync(join(old.workspace, 'src/c.py'), noise(3000));
    await old.client().takeSnapshot('newest');
    let lost = false;
    bench.store.before = (call) => {
      const [put, key = ''] = call.split(' ');
      if (lost || put !== 'put' || !key.endsWith('.manifest')) return;
      lost = true;
      for (const pack of bench.store.keys('.pack').filter((one) => one !== key)) bench.store.objects.delete(pack);
    };
    await worker.checkpoint(signal);
    expect(lost).toBe(true);
    const next = await bench.elsewhere();
    await next.attach();
    expect(tree(next.keeper)).toEqual(tree(old));
    expect(notes(await records(next.keeper, 2), 'Recovered')).toMatchObject([{ passedOver: [] }]);
  });

  it('a checkpoint is reported although an old one could not be removed', async () => {
    const { old, worker } = await bench.lost();
    await old.client().note('More', {});
    bench.store.before = (call) => {
      if (call.startsWith('remove')) throw new StoreFailure('Denied', call);
    };
    const { head } = await worker.checkpoint(signal);
    expect(bench.written.at(-1)).toMatchObject({ head, uri: `memory://${bench.newest()}` });
    bench.store.comeBack();
    await old.client().note('More', {});
    await worker.checkpoint(signal);
    expect(bench.store.keys('.json')).toHaveLength(2);
  });

  it('an act waits for its intent, and is not begun when that cannot be stored', async () => {
    const { old, worker } = await bench.lost();
    await old.client().note('Intent', { command: 'git push' });
    bench.store.goAway();
    await expect(worker.intent(signal)).rejects.toMatchObject({ failureClass: 'Infrastructure', reason: 'IntentNotDurable' });
    bench.store.comeBack();
    await worker.intent(signal);
    expect(bench.store.keys('/log/').length).toBeGreaterThan(1);
  });

  it('a worker that is killed at any step leaves the checkpoint before it or its own', { timeout: 240_000 }, async () => {
    const { old, worker: first, before } = await bench.lost();
    void first;
    writeFileSync(join(old.workspace, 'src/c.py'), noise(3000));
    await old.client().takeSnapshot('newest');
    const after = tree(old);
    const saved = new Map(
      [...bench.store.objects].map(([key, { content, modifiedAt }]) => [key, { content: Buffer.from(content), modifiedAt }]),
    );
    const seen = new Set<string>();
    for (let steps = 0; ; steps += 1) {
      bench.store.objects.clear();
      for (const [key, object] of saved) bench.store.objects.set(key, object);
      let left = steps;
      bench.store.before = (call) => {
        if (left-- <= 0) throw new StoreFailure('Unavailable', `${call}: killed`);
      };
      const worker = bench.worker({ epoch: 2, reported: bench.reported });
      const done = await worker
        .attach(old.client(2), signal)
        .then(() => worker.checkpoint(signal))
        .then(
          () => true,
          () => false,
        );
      bench.store.comeBack();
      const keeper = await bench.keeper();
      await bench.worker({ epoch: 3, reported: bench.reported }).attach(keeper.client(3), signal);
      const now = JSON.stringify(tree(keeper));
      expect([JSON.stringify(before), JSON.stringify(after)]).toContain(now);
      seen.add(now === JSON.stringify(after) ? 'after' : 'before');
      if (done) break;
    }
    expect([...seen].sort()).toEqual(['after', 'before']);
  });
});

/** Reports whether only the newest checkpoint names a pack or manifest. */
function onlyInNewest(key: string): boolean {
  const named = (of: string): boolean =>
    (bench.store.objects.get(of)?.content.toString() ?? '').includes(key.slice('packs/'.length, key.indexOf('.')));
  const [older, newer] = bench.store.keys('.json');
  return !named(older ?? '') && named(newer ?? '');
}
