import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { type Clock, type Timer, sleep } from '../runtime/clock.ts';
import { silentLog } from '../runtime/log.ts';
import { seededRandom } from '../testing/random.ts';
import { VirtualClock } from '../testing/virtualClock.ts';
import { ApiError } from '../transport/apiError.ts';
import { LeaderElector, type ElectorOptions, type Lease, type LeaseClient } from './elector.ts';

const full = process.env['AGENTFLEET_FULL'] === '1';
const histories = full ? 2000 : 40;
const firstSeed = full ? Number(process.env['AGENTFLEET_SEED'] ?? 1) : 1;

/** A clock that runs `rate` times as fast as another, and began elsewhere; its wall time is set by the test. */
function skewed(base: VirtualClock, rate: number, offset: number, wall: () => number = () => base.now() + offset): Clock {
  return {
    now: wall,
    monotonic: () => base.monotonic() * rate + offset,
    after: (ms: number, run: () => void): Timer => base.after(ms / rate, run),
  };
}

/** One lease with versions; calls take time, and may be lost on the way there or back. */
class LeaseServer {
  lease: Lease | undefined;
  #version = 0;
  readonly #clock: VirtualClock;
  readonly #random: () => number;
  loss = 0;
  slowness = 50;

  constructor(clock: VirtualClock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  client(reachable: () => boolean = () => true): LeaseClient {
    return {
      find: (_, { signal }) => this.#call(reachable, signal, () => this.lease),
      create: (lease, { signal }) => this.#call(reachable, signal, () => this.#store(lease, undefined)),
      update: (lease, { signal }) => this.#call(reachable, signal, () => this.#store(lease, lease.metadata.resourceVersion)),
    };
  }

  #store(lease: Lease, version: string | undefined): Lease {
    if (this.lease?.metadata.resourceVersion !== version) throw new ApiError(409, { reason: 'Conflict' }, 'PUT lease');
    this.#version += 1;
    this.lease = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(this.#version) } };
    return this.lease;
  }

  async #call<T>(reachable: () => boolean, signal: AbortSignal | undefined, run: () => T): Promise<T> {
    const travel = (): Promise<boolean> => sleep(this.#clock, this.#random() * this.slowness, signal);
    if (!(await travel()) || !reachable() || this.#random() < this.loss) throw new Error('lost on the way there');
    const answer = run();
    if (!(await travel()) || !reachable() || this.#random() < this.loss) throw new Error('lost on the way back');
    return answer;
  }
}

function elector(
  server: LeaseServer,
  clock: Clock,
  random: () => number,
  identity: string,
  reachable?: () => boolean,
  times: Partial<Pick<ElectorOptions, 'leaseDurationMs' | 'renewDeadlineMs' | 'retryPeriodMs'>> = {},
): LeaderElector {
  const client = server.client(reachable);
  return new LeaderElector({ client, namespace: 'n', name: 'l', identity, clock, random, log: silentLog, ...times });
}

describe('LeaderElector', () => {
  it(
    'never lets two fences stand at once, with skewed clocks, wall clocks that jump, lost and slow calls, and partitions',
    async () => {
      let terms = 0;
      for (let seed = firstSeed; seed < firstSeed + histories; seed += 1) {
        const random = seededRandom(seed);
        const base = new VirtualClock();
        const server = new LeaseServer(base, random);
        server.loss = random() * 0.4;
        server.slowness = random() * 6000;
        const cut = Array.from({ length: 2 + (seed % 4) }, () => false);
        const day = 86_400_000;
        const walls = cut.map(() => base.now());
        const stop = new AbortController();
        const all = cut.map((_, i) => {
          const clock = skewed(base, 1 + random() * 0.45, random() * 1e9, () => walls[i] ?? 0);
          const one: { current: LeaderElector } = { current: elector(server, clock, random, `e${i}`, () => !cut[i]) };
          const live = async (): Promise<void> => {
            while (await one.current.acquire(stop.signal)) {
              terms += 1;
              const term = new AbortController();
              if (random() < 0.3) base.after(random() * 30_000, () => term.abort());
              await one.current.hold(AbortSignal.any([stop.signal, term.signal])).catch(() => {});
              if (random() < 0.7) await one.current.release();
              one.current = elector(server, clock, random, `e${i}-${terms}`, () => !cut[i]);
            }
          };
          return { one, done: live() };
        });
        for (let step = 0; step < 600; step += 1) {
          if (random() < 0.02) cut[Math.floor(random() * cut.length)] = random() < 0.6;
          if (random() < 0.05) walls[Math.floor(random() * walls.length)] = base.now() + (random() - 0.5) * 20 * day;
          await base.advance(500);
          const up = all.filter(({ one }) => one.current.fence.up);
          expect(up.length, `seed ${seed}, step ${step}`).toBeLessThanOrEqual(1);
        }
        stop.abort();
        await base.advance(60_000);
        await Promise.all(all.map(({ done }) => done));
      }
      expect(terms).toBeGreaterThan(2 * histories);
    },
    full ? 3_600_000 : 120_000,
  );

  it('follows a leader that died at any moment within the lease duration and one second', async () => {
    for (let seed = 1; seed <= 40; seed += 1) {
      const random = seededRandom(seed);
      const clock = new VirtualClock();
      const server = new LeaseServer(clock, random);
      server.slowness = 20;
      let alive = true;
      const times = { leaseDurationMs: 6000, renewDeadlineMs: 4000, retryPeriodMs: 1000 };
      const first = elector(server, clock, random, 'first', () => alive, times);
      const second = elector(server, clock, random, 'second', () => true, times);
      const stop = new AbortController();
      const led = first.acquire(stop.signal);
      await clock.advance(100);
      expect(await led).toBe(true);
      const lost = first.hold(stop.signal).catch(() => undefined);
      let tookAt: number | undefined;
      const took = second.acquire(stop.signal).then(() => (tookAt = clock.monotonic()));
      for (let at = 0; at < 10_000 + random() * 1000; at += 10) await clock.advance(10);
      alive = false;
      const died = clock.monotonic();
      for (let at = 0; at < 12_000; at += 10) await clock.advance(10);
      expect(tookAt, `seed ${seed}`).toBeDefined();
      expect((tookAt ?? Infinity) - died, `seed ${seed}`).toBeLessThanOrEqual(7000);
      stop.abort();
      await clock.advance(20_000);
      await Promise.all([lost, took]);
    }
  });

  it('takes over a lease duration after the last renewal it saw, and counts the transition', async () => {
    const clock = new VirtualClock();
    const server = new LeaseServer(clock, () => 0);
    let alive = true;
    const first = elector(
      server,
      clock,
      () => 0,
      'first',
      () => alive,
    );
    const second = elector(server, clock, () => 0, 'second');
    const stop = new AbortController();
    const led = first.acquire(stop.signal);
    await clock.advance(10);
    expect(await led).toBe(true);
    const lost = first.hold(stop.signal).catch((error: unknown) => error);
    let took = false;
    void second.acquire(stop.signal).then((leads) => (took = leads));
    await clock.advance(30_000);
    expect([first.fence.up, took]).toEqual([true, false]);
    alive = false;
    await clock.advance(10_000);
    expect(first.fence.up).toBe(false);
    await clock.advance(2_000);
    expect(await lost).toMatchObject({ code: 'AF_LEADERSHIP_LOST' });
    expect(took).toBe(false);
    await clock.advance(6_000);
    expect(took).toBe(true);
    expect(server.lease?.spec).toMatchObject({ holderIdentity: 'second', leaseTransitions: 1, leaseDurationSeconds: 15 });
    stop.abort();
  });

  it('a release lets the next one in without waiting, and shows in the metric', async () => {
    const clock = new VirtualClock();
    const server = new LeaseServer(clock, () => 0);
    const registry = new Registry();
    const options = { client: server.client(), namespace: 'n', name: 'l', clock, random: () => 0, log: silentLog };
    const first = new LeaderElector({ ...options, identity: 'first', registry });
    const stop = new AbortController();
    const led = first.acquire(stop.signal);
    await clock.advance(1);
    await led;
    expect(await registry.metrics()).toContain('leader_election_master_status{name="l"} 1');
    const released = first.release();
    expect(first.fence.up).toBe(false);
    await clock.advance(1);
    await released;
    expect(server.lease?.spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
    expect(await registry.metrics()).toContain('leader_election_master_status{name="l"} 0');
    const second = new LeaderElector({ ...options, identity: 'second' });
    const next = second.acquire(stop.signal);
    await clock.advance(1);
    expect(await next).toBe(true);
  });

  it('counts the fence from before the renewal was sent, and does not release what it lost', async () => {
    const clock = new VirtualClock();
    const server = new LeaseServer(clock, () => 0.25);
    server.slowness = 4000; // one second each way: read and create take four
    let alive = true;
    const one = elector(
      server,
      clock,
      () => 0.25,
      'one',
      () => alive,
    );
    const stop = new AbortController();
    const led = one.acquire(stop.signal);
    await clock.advance(4000);
    expect(await led).toBe(true);
    expect(one.fence.remainingMs()).toBe(6000);
    alive = false;
    const lost = one.hold(stop.signal).catch((error: unknown) => error);
    await clock.advance(20_000);
    expect(await lost).toMatchObject({ code: 'AF_LEADERSHIP_LOST' });
    alive = true;
    const released = one.release();
    await clock.advance(10_000);
    await released;
    expect(server.lease?.spec?.holderIdentity).toBe('one');
  });

  it('releases also when a renewal was cut off on its way back', async () => {
    const clock = new VirtualClock();
    const server = new LeaseServer(clock, () => 0.5);
    server.slowness = 1000; // half a second each way
    const one = elector(server, clock, () => 0.5, 'one');
    const led = one.acquire(new AbortController().signal);
    await clock.advance(2000);
    expect(await led).toBe(true);
    const stop = new AbortController();
    const holding = one.hold(stop.signal);
    await clock.advance(2700); // the renewal is stored, its answer under way
    stop.abort();
    await holding;
    const released = one.release();
    await clock.advance(10_000);
    await released;
    expect(server.lease?.spec?.holderIdentity).toBe('');
  });

  it('a leader whose process stood still finds its fence down before it asks anybody', async () => {
    const clock = new VirtualClock();
    const one = elector(new LeaseServer(clock, () => 0), clock, () => 0, 'one');
    const led = one.acquire(new AbortController().signal);
    await clock.advance(1);
    await led;
    await clock.advance(9_999);
    expect(one.fence.remainingMs()).toBe(0);
    expect(one.fence.up).toBe(false);
    await clock.advance(26_000);
    expect(one.healthy).toBe(false);
  });

  it('refuses timings that cannot work', () => {
    const clock = new VirtualClock();
    const client = new LeaseServer(clock, () => 0).client();
    const common = { client, namespace: 'n', name: 'l', identity: 'i', clock, random: () => 0, log: silentLog };
    expect(() => new LeaderElector({ ...common, leaseDurationMs: 10_000 })).toThrow(RangeError);
    expect(() => new LeaderElector({ ...common, retryPeriodMs: 9_000 })).toThrow(RangeError);
  });
});
