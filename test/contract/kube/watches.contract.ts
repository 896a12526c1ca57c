import { describe, expect, it } from 'vitest';
import {
  Informer,
  ResourceClient,
  silentLog,
  systemClock,
  watch,
  type Lease,
  leases,
  LeaderElector,
  type WatchEvent,
} from '@agentfleet/kube';
import { configMaps, type ConfigMap, type Environment } from './environment.ts';

async function until(what: string, holds: () => boolean): Promise<void> {
  for (let i = 0; i < 400; i += 1) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`never: ${what}`);
}

/** Watches, caches, leases. */
export function watchesContract(environment: () => Environment): void {
  const of = (): { maps: ResourceClient<ConfigMap>; namespace: string } => {
    const { transport, namespace } = environment();
    return { maps: new ResourceClient(transport, configMaps), namespace };
  };

  describe('watches', () => {
    it('shows changes after a version in order; an object that leaves the selector is DELETED with its last state', async () => {
      const { maps, namespace } = of();
      const labels = { watched: 'yes' };
      const first = await maps.create({ metadata: { name: 'w1', namespace, labels } });
      await maps.patch({ namespace, name: 'w1' }, { data: { a: '1' } });
      const left = await maps.patch({ namespace, name: 'w1' }, { metadata: { labels: { watched: 'no' } } });
      await maps.create({ metadata: { name: 'w2', namespace, labels } });
      await maps.delete({ namespace, name: 'w2' });
      const seen: WatchEvent<ConfigMap>[] = [];
      const stop = new AbortController();
      const { transport } = environment();
      const resourceVersion = first.metadata.resourceVersion ?? '';
      const options = {
        transport,
        resource: configMaps,
        namespace,
        labelSelector: 'watched=yes',
        resourceVersion,
        timeoutSeconds: 30,
        stallMs: 90_000,
      };
      const running = watch<ConfigMap>({ ...options, clock: systemClock, signal: stop.signal }, (event) => {
        if (event.type !== 'BOOKMARK') seen.push(event);
      });
      await until('four events', () => seen.length >= 4);
      stop.abort();
      expect(await running).toBe('stopped');
      expect(seen.map((event) => `${event.type} ${event.object.metadata.name}`)).toEqual([
        'MODIFIED w1',
        'DELETED w1',
        'ADDED w2',
        'DELETED w2',
      ]);
      expect(seen[1]?.object.data).toEqual({ a: '1' });
      expect(seen[1]?.object.metadata.labels).toEqual(labels);
      expect(seen[1]?.object.metadata.resourceVersion).toBe(left.metadata.resourceVersion);
    });

    it('a version of the future is waited for in silence', async () => {
      const { transport, namespace } = environment();
      const options = { transport, resource: configMaps, namespace, resourceVersion: '999999999999', timeoutSeconds: 2, stallMs: 20_000 };
      let events = 0;
      const end = await watch({ ...options, clock: systemClock, signal: new AbortController().signal }, () => (events += 1));
      expect([end, events]).toEqual(['closed', 0]);
    });

    for (const watchList of [true, false]) {
      it(`a cache follows the server (${watchList ? 'streamed list' : 'list and watch'})`, async () => {
        const { maps, namespace } = of();
        const { transport } = environment();
        const label = `cache-${String(watchList)}`;
        const named = (name: string): { name: string; namespace: string; labels: Record<string, string> } => ({
          name: `${label}-${name}`,
          namespace,
          labels: { cache: label },
        });
        await maps.create({ metadata: named('before') });
        const common = { transport, resource: configMaps, namespace, labelSelector: `cache=${label}` };
        const informer = new Informer<ConfigMap>({ ...common, watchList, clock: systemClock, random: Math.random, log: silentLog });
        const events: string[] = [];
        informer.addHandler({
          onAdd: (object, initial) => events.push(`add ${object.metadata.name} ${String(initial)}`),
          onUpdate: (old, object) => events.push(`update ${object.metadata.name} ${old.data?.['a'] ?? '-'}>${object.data?.['a'] ?? '-'}`),
          onDelete: (object) => events.push(`delete ${object.metadata.name} ${object.data?.['a'] ?? '-'}`),
        });
        const stop = new AbortController();
        const running = informer.run(stop.signal);
        await informer.waitForSync(20_000);
        await maps.create({ metadata: named('after') });
        const changed = await maps.patch(named('after'), { data: { a: '1' } });
        await maps.delete(named('after'));
        await until('the change', () => informer.hasSeen(changed.metadata.resourceVersion ?? ''));
        await until('the deletion', () => events.length >= 4);
        expect(events).toEqual([
          `add ${label}-before true`,
          `add ${label}-after false`,
          `update ${label}-after ->1`,
          `delete ${label}-after 1`,
        ]);
        expect(informer.lister.list().map((object) => object.metadata.name)).toEqual([`${label}-before`]);
        expect(informer.lister.list()[0]?.metadata.managedFields).toBeUndefined();
        stop.abort();
        await running;
      });
    }
  });

  describe('leases', () => {
    it('one of two candidates leads; after its release the other one does', async () => {
      const { transport, namespace } = environment();
      const elector = (identity: string): LeaderElector => {
        const client = new ResourceClient<Lease>(transport, leases, 'lease');
        const timings = { leaseDurationMs: 3000, renewDeadlineMs: 2000, retryPeriodMs: 300 };
        return new LeaderElector({
          client,
          namespace,
          name: 'contract',
          identity,
          clock: systemClock,
          random: Math.random,
          log: silentLog,
          ...timings,
        });
      };
      const first = elector('one');
      const second = elector('two');
      const stop = new AbortController();
      expect(await first.acquire(stop.signal)).toBe(true);
      const waiting = second.acquire(stop.signal);
      const renewing = new AbortController();
      const holding = first.hold(renewing.signal);
      await new Promise((resolve) => setTimeout(resolve, 1500));
      expect([first.fence.up, second.fence.up]).toEqual([true, false]);
      renewing.abort();
      await holding;
      await first.release();
      expect(first.fence.up).toBe(false);
      expect(await waiting).toBe(true);
      const lease = await new ResourceClient<Lease>(transport, leases).get({ namespace, name: 'contract' });
      expect(lease.spec).toMatchObject({ holderIdentity: 'two', leaseDurationSeconds: 3 });
      expect(lease.spec?.leaseTransitions).toBeGreaterThanOrEqual(1);
      await second.release();
    });
  });
}
