import { silentLog, type ApiStream, type Handler, type Lease, type Transport } from '@agentfleet/kube';
import { VirtualClock } from '@agentfleet/kube/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { createCaches } from './caches.ts';
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
    handler.onDelete?.(lease(0));
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
    handler.onDelete?.(lease(0));
    handler.onAdd?.(lease(61_000), true);
    expect(beats.freshMs(key)).toBe(0);
  });

  it('takes a worker that gave its Lease up, or has none any more, for lost', () => {
    handler.onAdd?.(lease(0), false);
    handler.onUpdate?.(lease(0), lease(0, ''));
    expect(beats.freshMs(key)).toBe(0);
    handler.onUpdate?.(lease(0, ''), lease(1));
    expect(beats.freshMs(key)).toBe(20_000);
    handler.onDelete?.(lease(0));
    expect(beats.freshMs(key)).toBe(0);
    expect(reported).toHaveLength(4);
  });
});

/** A server of the one Lease, renewed `agoMs` before it is asked; each watch shows it and is silent from then on, as a dead connection is. */
function silentAfterList(clock: VirtualClock, agoMs: () => number): Transport {
  const open = (): ApiStream => {
    const end = Promise.withResolvers<undefined>();
    const resourceVersion = String(clock.monotonic() + 1);
    const spec = { holderIdentity: 'w-1', renewTime: new Date(clock.now() - agoMs()).toISOString() };
    const events = [
      { type: 'ADDED', object: { metadata: { ...name, resourceVersion }, spec } },
      { type: 'BOOKMARK', object: { metadata: { resourceVersion, annotations: { 'k8s.io/initial-events-end': 'true' } } } },
    ];
    async function* body(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
      await end.promise;
    }
    return { body: body(), close: () => end.resolve(undefined) };
  };
  return { host: 'silent', request: () => Promise.reject(new Error('not asked for')), stream: async () => open(), close: async () => {} };
}

describe('Heartbeats of a cache whose watch died unnoticed', () => {
  const rows: readonly [string, number, boolean][] = [
    ['keeps the only worker, which goes on renewing', Infinity, true],
    ['loses it in time where it fell silent with the watch', 0, false],
  ];
  it.each(rows)('%s', async (_, renewsForMs, alive) => {
    const clock = new VirtualClock();
    const stop = new AbortController();
    const transport = silentAfterList(clock, () => Math.max(0, clock.monotonic() - renewsForMs));
    const { leases } = createCaches({ transport, clock, random: () => 0.5, log: silentLog });
    const beats = new Heartbeats(leases, clock);
    const lost: number[] = [];
    beats.onChange((key) => beats.freshMs(key) === 0 && lost.push(clock.monotonic()));
    const running = leases.run(stop.signal);
    await clock.advance(120_000);
    stop.abort();
    await running;
    expect(lost).toEqual(alive ? [] : [20_000]);
  });
});
