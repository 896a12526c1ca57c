import { describe, expect, it } from 'vitest';
import { type KubeObject, compareVersions } from '../api/resource.ts';
import { VirtualClock } from '../testing/virtualClock.ts';
import { Consistency } from './consistency.ts';

const answer = (resourceVersion: string): { metadata: { name: string; resourceVersion: string } } => ({
  metadata: { name: 'x', resourceVersion },
});

describe('Consistency', () => {
  it('holds a key back until every cache has seen its newest write; other keys go on', () => {
    const seen = { a: '1', b: '1' };
    const cache = (name: 'a' | 'b'): { name: string; hasSeen: (version: string) => boolean } => ({
      name,
      hasSeen: (version) => (compareVersions(seen[name], version) ?? -1) >= 0,
    });
    const [a, b] = [cache('a'), cache('b')];
    const consistency = new Consistency({ clock: new VirtualClock() });
    consistency.wrote('k', a, answer('7'));
    consistency.wrote('k', a, answer('5'));
    consistency.wrote('k', b, answer('10'));
    expect([consistency.waitMs('k'), consistency.waitMs('other')]).toEqual([100, 0]);
    seen.a = '6';
    seen.b = '10';
    expect(consistency.waitMs('k')).toBe(100);
    seen.a = '7';
    expect(consistency.waitMs('k')).toBe(0);
    expect(consistency.size).toBe(0);
  });

  it('waits until a deleted object is gone or terminating, but not for its successor', () => {
    const consistency = new Consistency({ clock: new VirtualClock() });
    const old = { metadata: { name: 'x', uid: '1' } };
    let present: KubeObject | undefined = old;
    const cache = { name: 'c', lister: { get: (key: string) => (key === 'x' ? present : undefined) } };
    consistency.deleted('k', cache, old);
    expect(consistency.waitMs('k')).toBe(100);
    present = { metadata: { ...old.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' } };
    expect(consistency.waitMs('k')).toBe(0);
    present = old;
    consistency.deleted('k', cache, old);
    present = { metadata: { name: 'x', uid: '2' } };
    expect(consistency.waitMs('k')).toBe(0);
  });

  it('gives up on a cache that never sees the write, and reports it', async () => {
    const clock = new VirtualClock();
    const late: string[] = [];
    const consistency = new Consistency({ clock, timeoutMs: 1000, onTimeout: (key, cache) => late.push(`${key} ${cache}`) });
    consistency.wrote('k', { name: 'stuck', hasSeen: () => false }, answer('7'));
    await clock.advance(999);
    expect(consistency.waitMs('k')).toBe(100);
    await clock.advance(1);
    expect(consistency.waitMs('k')).toBe(0);
    expect(late).toEqual(['k stuck']);
  });
});
