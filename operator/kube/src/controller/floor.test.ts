import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../testing/virtualClock.ts';
import { Controller, ReconcileFloor, done, requeueAfter } from './controller.ts';

describe('the floor under reconciles of one object', () => {
  it('bounds what a loop about one object costs, keeps its last change, and does not hold others up', async () => {
    const clock = new VirtualClock();
    const times: Record<string, number[]> = { loop: [], other: [] };
    const controller = new Controller({
      name: 'test',
      sources: [],
      clock,
      floorMs: 1000,
      reconcile: (key) => {
        times[key]?.push(clock.monotonic());
        return Promise.resolve(key === 'loop' ? requeueAfter(1) : done);
      },
    });
    const stop = new AbortController();
    const running = controller.run(stop.signal);
    controller.enqueue('loop');
    for (let i = 0; i < 100; i += 1) {
      controller.enqueue('loop');
      await clock.advance(50);
      if (i === 33) controller.enqueue('other');
      await clock.advance(50);
    }
    const loop = times['loop'] ?? [];
    expect(loop.length).toBe(11);
    expect(Math.min(...loop.slice(1).map((at, i) => at - (loop[i] ?? 0)))).toBeGreaterThanOrEqual(1000);
    expect(times['other']).toEqual([3350]);
    stop.abort();
    await running;
  });

  it('forgets objects that are past it', async () => {
    const clock = new VirtualClock();
    const floor = new ReconcileFloor(clock, 1000);
    for (let i = 0; i < 5000; i += 1) {
      floor.begins(`k${i}`);
      await clock.advance(10);
    }
    expect(floor.size).toBeLessThanOrEqual(101);
    expect(floor.waitMs('k4999')).toBe(990);
    expect(floor.waitMs('k1')).toBe(0);
  });
});
