import { parseKey } from '../api/resource.ts';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { Informer } from '../cache/informer.ts';
import { ResourceClient } from '../client/client.ts';
import { Controller, done } from '../controller/controller.ts';
import { watches } from '../controller/source.ts';
import { LeaderElector, leases, type Lease } from '../leader/elector.ts';
import { systemClock } from '../runtime/clock.ts';
import { silentLog } from '../runtime/log.ts';
import { eventually, testBed, widgets, type Bed, type Widget } from '../testing/widget.ts';
import { fencedTransport } from '../transport/transport.ts';
import { Manager, type ManagerOptions } from './manager.ts';

const local = { port: 0, host: '127.0.0.1' };

function electorOf(bed: Bed, identity: string): LeaderElector {
  const client = new ResourceClient<Lease>(bed.transport, leases, 'lease');
  const timings = { leaseDurationMs: 3000, renewDeadlineMs: 2000, retryPeriodMs: 50 };
  return new LeaderElector({
    client,
    namespace: 'default',
    name: 'm',
    identity,
    clock: systemClock,
    random: Math.random,
    log: silentLog,
    ...timings,
  });
}

interface Replica {
  readonly manager: Manager;
  readonly informer: Informer<Widget>;
  readonly elector: LeaderElector;
  readonly stop: () => Promise<void>;
  readonly running: Promise<void>;
}

/** An operator that labels each widget once with its own name. */
function replica(bed: Bed, identity: string, options: Partial<ManagerOptions> = {}, slow: () => Promise<void> = async () => {}): Replica {
  const elector = electorOf(bed, identity);
  const client = new ResourceClient(fencedTransport(bed.transport, elector.fence), widgets);
  const informer = new Informer<Widget>({
    transport: bed.transport,
    resource: widgets,
    clock: systemClock,
    random: Math.random,
    log: silentLog,
  });
  const controller = new Controller({
    name: identity,
    sources: [watches(informer)],
    reconcile: async (key) => {
      if (informer.lister.get(key)?.metadata.labels?.['by'] !== undefined) return done;
      await slow();
      await client.patch(parseKey(key), { metadata: { labels: { by: identity } } });
      return done;
    },
  });
  const manager = new Manager({ elector, probes: local, metrics: local, registry: new Registry(), ...options })
    .addCache(informer)
    .addController(controller);
  const abort = new AbortController();
  const running = manager.run(abort.signal);
  running.catch(() => {});
  const stop = (): Promise<void> => {
    abort.abort();
    return running;
  };
  return { manager, informer, elector, stop, running };
}

const by = (bed: Bed): (string | undefined)[] => bed.server.objects(widgets).map((widget) => widget.metadata.labels?.['by']);

describe('Manager', () => {
  it('a standby is warm and ready, does nothing, and takes over at once when the leader stops', async () => {
    await using bed = await testBed();
    const client = new ResourceClient(bed.transport, widgets);
    const first = replica(bed, 'first');
    await eventually('a leader', () => first.elector.isLeader);
    const second = replica(bed, 'second');
    await client.create({ metadata: { name: 'a', namespace: 'default' } });
    await eventually('the work', () => by(bed).includes('first'));
    await eventually('a warm standby', () => second.informer.hasSeen(bed.server.version));
    expect(second.elector.isLeader).toBe(false);
    await first.stop();
    await eventually('a new leader', () => second.elector.isLeader);
    await client.create({ metadata: { name: 'b', namespace: 'default' } });
    await eventually('its work', () => by(bed).includes('second'));
    expect(by(bed)).toEqual(['first', 'second']);
    await second.stop();
  });

  it('a stop lets the reconcile in flight write, then releases the lease', async () => {
    await using bed = await testBed();
    let release = (): void => {};
    let entered = false;
    const one = replica(bed, 'one', {}, () => {
      entered = true;
      return new Promise((resolve) => (release = resolve));
    });
    await new ResourceClient(bed.transport, widgets).create({ metadata: { name: 'a', namespace: 'default' } });
    await eventually('a reconcile', () => entered);
    const stopped = one.stop();
    await new Promise((resolve) => setTimeout(resolve, 2500));
    expect(one.elector.fence.up).toBe(true);
    release();
    await stopped;
    expect(by(bed)).toEqual(['one']);
    const writes = bed.server.writes.map((write) => `${write.verb} ${write.resource}`);
    expect(writes.lastIndexOf('patch widgets.test.example.com')).toBeLessThan(writes.length - 1);
    expect(bed.server.objects(leases)[0]?.spec?.holderIdentity).toBe('');
  });

  it('reports it when a reconcile does not end in time', async () => {
    await using bed = await testBed();
    const stuck = replica(bed, 'stuck', { gracefulMs: 100 }, () => new Promise(() => {}));
    await new ResourceClient(bed.transport, widgets).create({ metadata: { name: 'a', namespace: 'default' } });
    await eventually('a leader', () => stuck.elector.isLeader);
    await eventually('the cache', () => stuck.informer.lister.size === 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await expect(stuck.stop()).rejects.toMatchObject({ code: 'AF_MANAGER' });
  });

  it('fails when the lease is lost, and its late writes are fenced', async () => {
    await using bed = await testBed();
    let release = (): void => {};
    let outcome: Promise<void> | undefined;
    const one = replica(bed, 'one', {}, () => (outcome = new Promise((resolve) => (release = resolve))));
    await new ResourceClient(bed.transport, widgets).create({ metadata: { name: 'a', namespace: 'default' } });
    await eventually('a reconcile', () => outcome !== undefined);
    bed.server.onRequest = ({ resource }) =>
      resource.startsWith('leases') ? { kind: 'error', code: 500, reason: 'InternalError' } : undefined;
    await expect(one.running).rejects.toMatchObject({ code: 'AF_LEADERSHIP_LOST' });
    const before = bed.server.writes.filter((write) => write.resource.startsWith('widgets')).length;
    release();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(bed.server.writes.filter((write) => write.resource.startsWith('widgets'))).toHaveLength(before);
    expect(by(bed)).toEqual([undefined]);
  });

  it('serves probes and metrics from the start; ready only when the caches are full', async () => {
    await using bed = await testBed();
    bed.server.onRequest = ({ verb }) =>
      verb === 'watch' || verb === 'list' ? { kind: 'error', code: 500, reason: 'InternalError' } : undefined;
    const one = replica(bed, 'one');
    await eventually('the ports', () => one.manager.ports.length === 2);
    const [probes, metrics] = one.manager.ports;
    const get = async (port: number | undefined, path: string): Promise<string> => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`);
      return `${response.status} ${await response.text()}`;
    };
    expect(await get(probes, '/healthz')).toBe('200 ok');
    expect(await get(probes, '/readyz')).toContain('500 [-]cache-widgets.test.example.com failed: reason withheld');
    bed.server.onRequest = undefined;
    await eventually('the cache', () => one.informer.hasSynced());
    expect(await get(probes, '/readyz?verbose')).toBe('200 [+]cache-widgets.test.example.com ok\nreadyz check passed\n');
    expect(await get(probes, '/healthz/ping')).toBe('200 ok');
    expect(await get(probes, '/healthz/none')).toContain('404');
    expect(await get(metrics, '/metrics')).toMatch(/^200/);
    expect(await get(metrics, '/else')).toContain('404');
    await one.stop();
    await expect(get(probes, '/healthz')).rejects.toThrow();
  }, 20_000);

  it('a part that fails stops the rest and is what run rejects with', async () => {
    let stopped = false;
    const manager = new Manager();
    manager.add({
      run: async (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve((stopped = true) as never))),
    });
    manager.add({ run: () => Promise.reject(new Error('broken part')) });
    await expect(manager.run(new AbortController().signal)).rejects.toThrow('broken part');
    expect(stopped).toBe(true);
  });
});
