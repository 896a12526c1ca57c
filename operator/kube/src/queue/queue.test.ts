import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { settle, VirtualClock } from '../testing/virtualClock.ts';
import { lowPriority, WorkQueue } from './queue.ts';

function make(registry?: Registry): { clock: VirtualClock; queue: WorkQueue } {
  const clock = new VirtualClock();
  return { clock, queue: new WorkQueue({ name: 'test', clock, registry }) };
}

const keyOf = async (queue: WorkQueue): Promise<string | undefined> => (await queue.get())?.key;

describe('WorkQueue', () => {
  it('holds a key once, however often it is added', async () => {
    const { queue } = make();
    queue.add('a');
    queue.add('a');
    queue.add('b');
    expect(queue.depth).toBe(2);
    expect([await keyOf(queue), await keyOf(queue)]).toEqual(['a', 'b']);
  });

  it('a key added during its work comes out again only after done', async () => {
    const { queue } = make();
    queue.add('a');
    await queue.get();
    queue.add('a');
    queue.add('a');
    expect(queue.depth).toBe(0);
    queue.done('a');
    expect(queue.depth).toBe(1);
    await queue.get();
    queue.done('a');
    expect(queue.depth).toBe(0);
  });

  it('gives higher priorities first and equals in the order of arrival; adding again raises, never lowers', async () => {
    const { queue } = make();
    queue.add('low', { priority: lowPriority });
    queue.add('a');
    queue.add('b');
    queue.add('low2', { priority: lowPriority });
    queue.add('low', { priority: 5 });
    queue.add('low', { priority: 1 });
    queue.add('a', { priority: lowPriority });
    const order = [await keyOf(queue), await keyOf(queue), await keyOf(queue), await keyOf(queue)];
    expect(order).toEqual(['low', 'a', 'b', 'low2']);
  });

  it('keeps the earlier of two waits, and an add ends the wait', async () => {
    const { clock, queue } = make();
    queue.addAfter('a', 1000);
    queue.addAfter('a', 200);
    queue.addAfter('a', 5000);
    queue.addAfter('b', 60_000);
    await clock.advance(199);
    expect(queue.depth).toBe(0);
    await clock.advance(1);
    expect(queue.depth).toBe(1);
    queue.add('b');
    expect([await keyOf(queue), await keyOf(queue)]).toEqual(['a', 'b']);
    queue.done('a');
    queue.done('b');
    await clock.advance(100_000);
    expect(queue.depth).toBe(0);
  });

  it('a wait longer than a timer can be does not fire at once', async () => {
    const { clock, queue } = make();
    queue.addAfter('a', 2 ** 40);
    await clock.advance(2 ** 33);
    expect(queue.depth).toBe(0);
  });

  it('doubles the wait of a failing key up to 1000 s until it is forgotten', async () => {
    const { queue, clock } = make();
    const comesAfter = async (key: string, ms: number): Promise<void> => {
      queue.addRateLimited(key);
      await clock.advance(ms - 1);
      expect(queue.depth).toBe(0);
      await clock.advance(1);
      expect((await queue.get())?.key).toBe(key);
      queue.done(key);
    };
    for (const ms of [5, 10, 20, 40]) await comesAfter('a', ms);
    for (let i = 0; i < 40; i += 1) queue.addRateLimited('a');
    await clock.advance(100);
    queue.done((await queue.get())?.key ?? '');
    await comesAfter('a', 1_000_000);
    await comesAfter('b', 5);
    expect(queue.retries('a')).toBe(45);
    queue.forget('a');
    await comesAfter('a', 5);
  });

  it('hands a key to a waiting worker at once, in the order of the workers', async () => {
    const { queue } = make();
    const got: string[] = [];
    for (const worker of ['w1', 'w2']) void queue.get().then((item) => got.push(`${worker} ${item?.key ?? '-'}`));
    queue.add('a');
    queue.add('b');
    await settle();
    expect(got).toEqual(['w1 a', 'w2 b']);
  });

  it('an aborted wait takes no key', async () => {
    const { queue } = make();
    const stop = new AbortController();
    const waiting = queue.get(stop.signal);
    stop.abort();
    expect(await waiting).toBeUndefined();
    queue.add('a');
    expect(await keyOf(queue)).toBe('a');
  });

  it('after the shutdown gives out what is ready and takes nothing', async () => {
    const { clock, queue } = make();
    queue.add('a');
    queue.add('b');
    queue.addAfter('late', 10);
    await queue.get();
    queue.shutDown();
    queue.add('c');
    await clock.advance(100);
    expect(await keyOf(queue)).toBe('b');
    expect(await queue.get()).toBeUndefined();
  });

  it('reports under the names of client-go', async () => {
    const registry = new Registry();
    const { clock, queue } = make(registry);
    queue.add('a');
    queue.add('a');
    queue.add('b', { priority: lowPriority });
    queue.addAfter('c', 1000);
    await clock.advance(500);
    await queue.get();
    await clock.advance(3000);
    const text = await registry.metrics();
    const own = 'name="test",controller="test"';
    for (const line of [
      `workqueue_depth{${own},priority="0"} 1`,
      `workqueue_depth{${own},priority="-100"} 1`,
      `workqueue_adds_total{${own}} 3`,
      `workqueue_retries_total{${own}} 1`,
      `workqueue_queue_duration_seconds_sum{${own}} 0.5`,
      `workqueue_unfinished_work_seconds{${own}} 3`,
      `workqueue_longest_running_processor_seconds{${own}} 3`,
    ])
      expect(text).toContain(line);
    queue.done('a');
    expect(await registry.metrics()).toContain(`workqueue_work_duration_seconds_sum{${own}} 3`);
  });
});
