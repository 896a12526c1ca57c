import { parseKey } from '../api/resource.ts';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { Informer } from '../cache/informer.ts';
import { ResourceClient } from '../client/client.ts';
import { Consistency } from '../consistency/consistency.ts';
import { systemClock } from '../runtime/clock.ts';
import { silentLog } from '../runtime/log.ts';
import { ApiError } from '../transport/apiError.ts';
import { seededRandom } from '../testing/random.ts';
import { settle, VirtualClock } from '../testing/virtualClock.ts';
import { eventually, testBed, widgets, type Widget } from '../testing/widget.ts';
import { Controller, type ControllerOptions, type Reconcile, done, requeueAfter } from './controller.ts';
import { generationChanged, channel, toController, watches } from './source.ts';

interface Run {
  readonly controller: Controller;
  readonly clock: VirtualClock;
  readonly registry: Registry;
  readonly stop: () => Promise<void>;
}

function start(reconcile: Reconcile, options: Partial<ControllerOptions> = {}): Run {
  const clock = new VirtualClock();
  const registry = new Registry();
  const controller = new Controller({ name: 'test', sources: [], reconcile, clock, registry, ...options });
  const abort = new AbortController();
  const running = controller.run(abort.signal);
  const stop = async (): Promise<void> => {
    abort.abort();
    await running;
  };
  return { controller, clock, registry, stop };
}

describe('Controller', () => {
  it('never works on one key twice at a time, and misses no change', async () => {
    const random = seededRandom(7);
    const active = new Map<string, number>();
    const wanted = new Map<string, number>();
    const reached = new Map<string, number>();
    let most = 0;
    const { controller, clock, stop } = start(
      async (key) => {
        active.set(key, (active.get(key) ?? 0) + 1);
        expect(active.get(key)).toBe(1);
        most = Math.max(
          most,
          [...active.values()].reduce((a, b) => a + b, 0),
        );
        const seen = wanted.get(key) ?? 0;
        for (let i = 0; i < random() * 5; i += 1) await settle();
        active.set(key, 0);
        if (random() < 0.2) throw new Error('now and then');
        reached.set(key, seen);
        return random() < 0.1 ? requeueAfter(50) : done;
      },
      { maxConcurrent: 4 },
    );
    for (let step = 0; step < 300; step += 1) {
      const key = `k${Math.floor(random() * 6)}`;
      wanted.set(key, step);
      controller.enqueue(key);
      if (random() < 0.3) await clock.advance(random() * 20);
    }
    for (let i = 0; i < 100; i += 1) await clock.advance(100);
    expect(reached).toEqual(wanted);
    expect(most).toBe(4);
    await stop();
  });

  it('waits longer after each failure, and forgets at a success', async () => {
    const times: number[] = [];
    let outcome: 'fail' | 'ok' = 'fail';
    const { controller, clock, registry, stop } = start(() => {
      times.push(clock.monotonic());
      if (outcome === 'fail') throw new Error('no');
      return Promise.resolve(done);
    });
    controller.enqueue('a');
    await clock.advance(40);
    expect(times).toEqual([0, 5, 15, 35]);
    outcome = 'ok';
    await clock.advance(100);
    expect(controller.queue.retries('a')).toBe(0);
    const text = await registry.metrics();
    expect(text).toContain('controller_runtime_reconcile_total{controller="test",result="error"} 4');
    expect(text).toContain('controller_runtime_reconcile_total{controller="test",result="success"} 1');
    expect(text).toContain('controller_runtime_reconcile_total{controller="test",result="requeue_after"} 0');
    expect(text).toContain('controller_runtime_reconcile_errors_total{controller="test"} 4');
    await stop();
  });

  it('looks again after requeueAfter, counts defects as panics, and aborts what takes too long', async () => {
    let mode: 'again' | 'defect' | 'hang' = 'again';
    let calls = 0;
    const { controller, clock, registry, stop } = start(
      (_, { signal }) => {
        calls += 1;
        if (mode === 'again') return Promise.resolve(requeueAfter(1000));
        if (mode === 'defect') throw new TypeError('x is not a function');
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
      },
      { timeoutMs: 200 },
    );
    controller.enqueue('a');
    await clock.advance(3500);
    expect(calls).toBe(4);
    mode = 'defect';
    await clock.advance(501);
    mode = 'hang';
    await clock.advance(100);
    const text = await registry.metrics();
    expect(text).toContain('controller_runtime_reconcile_panics_total{controller="test"} 1');
    expect(text).toContain('controller_runtime_active_workers{controller="test"} 1');
    await clock.advance(200);
    expect(await registry.metrics()).toContain('controller_runtime_reconcile_timeouts_total{controller="test"} 1');
    controller.kill();
    await stop();
    expect(() => requeueAfter(0)).toThrow(RangeError);
  });

  it('lets a reconcile in flight end at the stop and begins no other', async () => {
    const log: string[] = [];
    let finish = (): void => {};
    const { controller, stop } = start(async (key) => {
      log.push(`begin ${key}`);
      await new Promise<void>((resolve) => (finish = resolve));
      log.push(`end ${key}`);
      return done;
    });
    controller.enqueue('a');
    controller.enqueue('b');
    await settle();
    const stopped = stop();
    await settle();
    expect(log).toEqual(['begin a']);
    finish();
    await stopped;
    expect(log).toEqual(['begin a', 'end a']);
  });

  it('begins nothing that was handed over at the moment of the stop', async () => {
    const begun: string[] = [];
    const { controller, stop } = start((key) => {
      begun.push(key);
      return Promise.resolve(done);
    });
    await settle();
    controller.enqueue('a');
    await stop();
    expect(begun).toEqual([]);
  });

  it('fails its start when a cache does not fill', async () => {
    const source = {
      name: 'never',
      hasSynced: () => false,
      waitForSync: () => Promise.reject(new Error('AF_CACHE_NOT_SYNCED')),
      start: () => () => {},
    };
    const controller = new Controller({ name: 'x', sources: [source], reconcile: () => Promise.resolve(done) });
    await expect(controller.run(new AbortController().signal)).rejects.toThrow(/NOT_SYNCED/);
  });

  it('reports a write that lost a race without an error, unless it goes on', async () => {
    const levels: string[] = [];
    const note =
      (level: string) =>
      (_: string, fields?: object): void =>
        void levels.push(`${level} ${String((fields as { code?: string }).code)}`);
    const conflict = new ApiError(409, { reason: 'Conflict', message: 'the object has been modified' }, 'PUT /api/v1/pods/a');
    const log = { ...silentLog, info: note('info'), error: note('error') };
    const { controller, clock, stop } = start(() => Promise.reject(conflict), { log });
    controller.enqueue('a');
    for (let step = 0; step < 40; step += 1) await clock.advance(1000);
    expect(levels.slice(0, 5)).toEqual(Array.from({ length: 5 }, () => 'info undefined'));
    expect(levels.slice(5, 6)).toEqual(['error AF_RECONCILE_FAILED']);
    await stop();
  });

  it('reads its own writes: with the gate no reconcile sees a cache from before its last write', async () => {
    await using bed = await testBed();
    const client = new ResourceClient(bed.transport, widgets);
    const informer = new Informer<Widget>({
      transport: bed.transport,
      resource: widgets,
      clock: systemClock,
      random: Math.random,
      log: silentLog,
    });
    const consistency = new Consistency({ clock: systemClock, pollMs: 5 });
    const registry = new Registry();
    let size = 0;
    let stale = 0;
    const controller = new Controller({
      name: 'counter',
      sources: [watches(informer, { predicate: generationChanged })],
      gate: consistency,
      registry,
      reconcile: async (key) => {
        const cached = informer.lister.get(key);
        if (cached === undefined) return done;
        if ((cached.spec?.size ?? 0) !== size) stale += 1;
        if (size >= 20) return done;
        size += 1;
        const answer = await client.patch(parseKey(key), { spec: { size } });
        consistency.wrote(key, informer, answer);
        controller.enqueue(key);
        return done;
      },
    });
    await client.create({ metadata: { name: 'a', namespace: 'default' }, spec: { size: 0 } });
    const stop = new AbortController();
    const running = [informer.run(stop.signal), controller.run(stop.signal)];
    await eventually('twenty', () => size === 20);
    expect(stale).toBe(0);
    stop.abort();
    await Promise.all(running);
    expect(await registry.metrics()).toMatch(/stale_cache_skips_total\{controller="counter"\} [1-9]/);
  });
});

describe('sources', () => {
  it('a child leads to the owner that controls it, not to another one of the same name', () => {
    const owner = { ...widgets, known: { metadata: { name: 'o', uid: '1' } } };
    const child = (uid: string, controller = true): Widget => ({
      metadata: {
        name: 'c',
        namespace: 'n',
        ownerReferences: [{ apiVersion: 'test.example.com/v9', kind: 'Widget', name: 'o', uid, controller }],
      },
    });
    const map = toController(owner, () => owner.known);
    expect(map(child('1'))).toEqual(['n/o']);
    expect(map(child('2'))).toEqual([]);
    expect(map(child('1', false))).toEqual([]);
    expect(toController({ ...widgets, kind: 'Other' })(child('1'))).toEqual([]);
  });

  it('a channel feeds whoever started it', () => {
    const { source, enqueue } = channel('timer');
    const keys: string[] = [];
    const end = source.start((key) => keys.push(key));
    enqueue('a');
    end();
    enqueue('b');
    expect(keys).toEqual(['a']);
  });
});
