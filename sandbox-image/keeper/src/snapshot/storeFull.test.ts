import fs from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fullFrom } from './testing/fullPoints.ts';
import { Harness } from './testing/harness.ts';

let h: Harness;
beforeEach(() => {
  h = new Harness();
});
afterEach(() => h.dispose());

function write(name: string, content: string): void {
  fs.writeFileSync(join(h.workspace, name), content);
}

/** A tree with some files, a directory and a link. */
function fill(salt: string): void {
  fs.mkdirSync(join(h.workspace, 'dir'), { recursive: true });
  for (let at = 0; at < 8; at++) write(`dir/f${at}`, `${salt} ${at} `.repeat(3000));
  fs.rmSync(join(h.workspace, 'link'), { force: true });
  fs.symlinkSync(salt, join(h.workspace, 'link'));
}

describe('a store that is full', () => {
  test('from any write of a take on: reported, the tree and the earlier snapshot unchanged, and the next take works', async () => {
    fill('first');
    const engine = await h.engine();
    const { manifestDigest } = await engine.take();
    const taken: boolean[] = [];
    for (let point = 1; ; point++) {
      fill(`second ${point}`);
      const tree = h.describe();
      const { error, met } = await fullFrom(point, h.storeDir, () => engine.take());
      if (!met) break;
      expect(h.describe()).toEqual(tree);
      // A failure after the snapshot is durable (its note of the head) does not refuse it.
      if (error !== null) expect(error).toMatchObject({ code: 'AF_STORE_FULL' });
      taken.push(error === null);
      const fresh = await h.engine();
      expect(fresh.list().length).toBe(engine.list().length);
      expect((await fresh.manifest('s0001')).digest).toBe(manifestDigest);
      await fresh.close();
    }
    expect(taken.filter((ok) => !ok).length).toBeGreaterThan(4);
    await engine.take();
    const fresh = await h.engine();
    for (const { id, manifestDigest: digest } of fresh.list())
      expect(await fresh.restore(id)).toMatchObject({ verified: true, manifestDigest: digest });
  });

  test('from any write of a restore on: done, or reported and done by the next one', async () => {
    fill('first');
    const engine = await h.engine();
    await engine.take();
    const before = h.describe();
    let failed = 0;
    for (let point = 1; ; point++) {
      fill('second');
      const { error, met } = await fullFrom(point, h.storeDir, () => engine.restore('s0001'));
      if (error !== null) {
        failed++;
        expect(error).toMatchObject({ code: 'AF_RESTORE_FAILED' });
        expect((await engine.restore('s0001')).verified).toBe(true);
      }
      expect(h.describe()).toEqual(before);
      if (!met) break;
    }
    expect(failed).toBeGreaterThan(0);
  });

  test('from any write of a collection on: nothing that stays is harmed, and the next one ends it', async () => {
    for (let point = 1; ; point++) {
      const harness = new Harness();
      try {
        const engine = await harness.engine({ retention: { newest: 2, labels: [], slack: Number.POSITIVE_INFINITY } });
        for (let step = 0; step < 6; step++) {
          fs.writeFileSync(join(harness.workspace, 'a'), `${step} `.repeat(20_000));
          fs.writeFileSync(join(harness.workspace, `b${step}`), 'kept');
          await engine.take();
        }
        const { met } = await fullFrom(point, harness.storeDir, () => engine.collect());
        if (!met) break;
        const fresh = await harness.engine({ retention: { newest: 2, labels: [], slack: Number.POSITIVE_INFINITY } });
        for (const id of ['s0005', 's0006']) expect((await fresh.restore(id)).verified).toBe(true);
        await fresh.collect();
        expect(fresh.list().map(({ id }) => id)).toEqual(['s0005', 's0006']);
      } finally {
        await harness.dispose();
      }
    }
  });
});
