import { describe, expect, it } from 'vitest';
import { heapInUse } from '../testing/heap.ts';
import { VirtualClock } from '../testing/virtualClock.ts';
import { lowPriority, WorkQueue } from './queue.ts';

const full = process.env['AGENTFLEET_FULL'] === '1';
const keys = full ? 1_000_000 : 100_000;

const keyAt = (i: number): string => `team-${i % 97}/task-${i}`;

describe(`${keys} keys`, () => {
  it('go through the queue once each, by priority and in their order, in bounded memory', async () => {
    const clock = new VirtualClock();
    const queue = new WorkQueue({ name: 'size', clock });
    const before = heapInUse();
    for (let i = 0; i < keys; i += 1) queue.add(keyAt(i), { priority: i % 10 === 0 ? 0 : lowPriority });
    for (let i = 0; i < keys; i += 3) queue.add(keyAt(i), { priority: lowPriority });
    expect(queue.depth).toBe(keys);
    // The key itself is some 60 bytes of this.
    expect((heapInUse() - before) / keys).toBeLessThan(400);
    let taken = 0;
    let last = -1;
    for (let item = await queue.get(); item !== undefined; item = queue.depth > 0 ? await queue.get() : undefined) {
      const index = Number(item.key.slice(item.key.lastIndexOf('-') + 1));
      if (taken === keys / 10) last = -1;
      if ((item.priority === 0) !== taken < keys / 10) throw new Error(`priority ${item.priority} as number ${taken}`);
      if (index <= last) throw new Error(`${index} after ${last}`);
      last = index;
      taken += 1;
      queue.done(item.key);
    }
    expect(taken).toBe(keys);
    expect([queue.depth, queue.processing, queue.held]).toEqual([0, 0, 0]);
  });

  it('put off again and again leave nothing behind', () => {
    const clock = new VirtualClock();
    const queue = new WorkQueue({ name: 'size', clock });
    for (let i = 0; i < keys; i += 1) {
      const key = keyAt(i % 1000);
      queue.addAfter(key, 3_600_000 - i);
      if (i % 2 === 0) queue.addAfter(key, 1_800_000 - i, { priority: i % 5 });
    }
    expect(queue.held).toBeLessThanOrEqual(2 * 1000 + 1024);
  });

  it('raised again and again leave nothing behind', () => {
    const queue = new WorkQueue({ name: 'size', clock: new VirtualClock() });
    for (let i = 0; i < keys; i += 1) queue.add(keyAt(i % 1000), { priority: i });
    expect(queue.held).toBeLessThanOrEqual(2 * 1000 + 1024);
    expect(queue.depth).toBe(1000);
  });
});
