import type { Handler, Lease } from '@agentfleet/kube';
import { VirtualClock } from '@agentfleet/kube/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { Heartbeats } from './heartbeats.ts';

const name = { namespace: 'platform', name: 'w-1' };
const key = 'platform/w-1';

describe('Heartbeats', () => {
  let clock = new VirtualClock();
  let handler: Handler<Lease> = {};
  let beats = new Heartbeats({ addHandler: () => {} }, clock);
  let reported: string[] = [];

  beforeEach(() => {
    clock = new VirtualClock();
    beats = new Heartbeats({ addHandler: (given) => (handler = given) }, clock);
    reported = [];
    beats.onChange((name) => reported.push(`${name.replace('platform/', '')} ${beats.freshMs(name)}`));
  });

  const lease = (agoMs: number, holderIdentity = 'w-1'): Lease => ({
    metadata: name,
    spec: { holderIdentity, renewTime: new Date(clock.now() - agoMs).toISOString() },
  });

  it('takes a worker for alive for 20 s after a renewal was seen', async () => {
    expect(beats.freshMs(key)).toBe(0);
    handler.onAdd?.(lease(0), false);
    expect(beats.freshMs(key)).toBe(20_000);
    await clock.advance(19_999);
    expect(beats.freshMs(key)).toBe(1);
    await clock.advance(1);
    expect(beats.freshMs(key)).toBe(0);
    handler.onUpdate?.(lease(20_000), lease(0));
    expect(beats.freshMs(key)).toBe(20_000);
    expect(reported).toEqual(['w-1 20000', 'w-1 0', 'w-1 20000']);
  });

  it('reports a worker that falls silent in the moment in which it is lost, by one timer however often it renewed', async () => {
    handler.onAdd?.(lease(0), false);
    for (let renewals = 0; renewals < 100; renewals += 1) {
      await clock.advance(5_000);
      handler.onUpdate?.(lease(5_000), lease(0));
      expect(clock.timers).toBe(1);
    }
    expect(reported).toEqual(['w-1 20000']);
    await clock.advance(19_999);
    expect(reported).toHaveLength(1);
    await clock.advance(1);
    expect(reported).toEqual(['w-1 20000', 'w-1 0']);
    expect(clock.timers).toBe(0);
  });

  it('waits for no worker that is gone', async () => {
    handler.onAdd?.(lease(0), false);
    handler.onDelete?.(lease(0), false);
    expect(clock.timers).toBe(0);
    handler.onAdd?.(lease(0), false);
    await clock.advance(60_000);
    expect(reported).toEqual(['w-1 20000', 'w-1 0', 'w-1 20000', 'w-1 0']);
  });

  it('counts a renewal once, however often it is shown', async () => {
    const same = lease(0);
    handler.onAdd?.(same, false);
    await clock.advance(15_000);
    handler.onUpdate?.(same, same);
    expect(beats.freshMs(key)).toBe(5_000);
    expect(reported).toHaveLength(1);
  });

  it('believes a clock that is wrong by a little, and not a Lease that is long dead', () => {
    handler.onAdd?.(lease(30_000), true);
    expect(beats.freshMs(key)).toBe(20_000);
    handler.onDelete?.(lease(0), false);
    handler.onAdd?.(lease(61_000), true);
    expect(beats.freshMs(key)).toBe(0);
  });

  it('takes a worker that gave its Lease up, or has none any more, for lost', () => {
    handler.onAdd?.(lease(0), false);
    handler.onUpdate?.(lease(0), lease(0, ''));
    expect(beats.freshMs(key)).toBe(0);
    handler.onUpdate?.(lease(0, ''), lease(1));
    expect(beats.freshMs(key)).toBe(20_000);
    handler.onDelete?.(lease(0), false);
    expect(beats.freshMs(key)).toBe(0);
    expect(reported).toHaveLength(4);
  });
});
