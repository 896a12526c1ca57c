import { describe, expect, it } from 'vitest';
import {
  Applier,
  EventRecorder,
  events,
  Informer,
  isInvalid,
  ResourceClient,
  silentLog,
  systemClock,
  type KubeObject,
} from '@agentfleet/kube';
import { configMaps, widgets, type ConfigMap, type Environment, type Widget } from './environment.ts';

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < 600; i += 1) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`never: ${what}`);
}

interface Cache<T extends KubeObject> extends AsyncDisposable {
  readonly informer: Informer<T>;
}

async function cacheOf<T extends KubeObject>(environment: Environment, resource: typeof widgets | typeof configMaps): Promise<Cache<T>> {
  const { transport, namespace } = environment;
  const common = { clock: systemClock, random: Math.random, log: silentLog };
  const informer = new Informer<T>({ transport, resource: resource as never, namespace, ...common });
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  await informer.waitForSync(30_000);
  const close = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return { informer, [Symbol.asyncDispose]: close };
}

/** `n` characters that a name may have. */
const long = (n: number): string => `a${'-0'.repeat(n)}`.slice(0, n - 1).concat('z');

/** The largest and longest of everything, and a definition that is removed and created again. */
export function limitsContract(environment: () => Environment): void {
  describe('limits', () => {
    it('an object with every part at its limit passes through apply, cache, status, events and deletion', async () => {
      const { transport, namespace } = environment();
      await using cache = await cacheOf<Widget>(environment(), widgets);
      const client = new ResourceClient<Widget>(transport, widgets);
      const name = long(253);
      const label = `${long(253)}/${long(63)}`;
      const annotation = `${long(253)}/note`;
      const metadata = {
        name,
        namespace,
        labels: { [label]: long(63) },
        annotations: { [annotation]: 'é'.repeat((262_144 - annotation.length) / 2) },
        finalizers: [`${long(200)}.example.com/${long(63)}`],
      };
      const parts = Array.from({ length: 1000 }, (_, i) => ({ name: `${i}-${'x'.repeat(300)}`, count: i }));
      const applier = new Applier<Widget>({ client, view: cache.informer, fieldManager: 'limits' });
      const made = await applier.apply({ metadata, spec: { size: Number.MAX_SAFE_INTEGER, parts } });
      await until('the object', () => cache.informer.hasSeen(made.object?.metadata.resourceVersion ?? ''));
      const cached = cache.informer.lister.get(`${namespace}/${name}`);
      expect(cached?.metadata.labels).toEqual(metadata.labels);
      expect(cached?.metadata.annotations).toEqual(metadata.annotations);
      expect(cached?.spec).toEqual({ size: Number.MAX_SAFE_INTEGER, parts });
      expect((await applier.apply({ metadata, spec: { size: Number.MAX_SAFE_INTEGER, parts } })).written).toBe(false);
      await client.applyStatus({ metadata: { name, namespace }, status: { phase: 'p'.repeat(10_000) } }, { fieldManager: 'limits' });
      await client.delete({ namespace, name });
      await client.patch({ namespace, name }, { metadata: { finalizers: [] } });
      await until('its end', () => cache.informer.lister.get(`${namespace}/${name}`) === undefined);
    });

    it('one more is refused: of a name, of a label, of annotations', async () => {
      const { transport, namespace } = environment();
      const maps = new ResourceClient<ConfigMap>(transport, configMaps);
      const refused = async (metadata: object): Promise<unknown> =>
        maps.create({ metadata: { name: 'over', namespace, ...metadata } }).catch((error: unknown) => error);
      expect(isInvalid(await refused({ name: long(254) }))).toBe(true);
      expect(isInvalid(await refused({ labels: { a: long(64) } }))).toBe(true);
      expect(isInvalid(await refused({ annotations: { a: 'x'.repeat(262_144) } }))).toBe(true);
    });

    it('an event about an object with the longest name, with the longest of everything, is kept', async () => {
      const { transport, namespace } = environment();
      const client = new ResourceClient(transport, events);
      const common = { clock: systemClock, random: Math.random, log: silentLog };
      const recorder = new EventRecorder({ client, reportingController: 'example.com/limits', reportingInstance: 'pod', ...common });
      const stop = new AbortController();
      const running = recorder.run(stop.signal);
      const regarding = { apiVersion: widgets.apiVersion, kind: widgets.kind, metadata: { name: long(253), namespace, uid: 'u-1' } };
      recorder.record(regarding, { type: 'Normal', reason: 'R'.repeat(500), action: 'A'.repeat(500), note: '\u{1F600}'.repeat(1000) });
      const found = async (): Promise<boolean> =>
        (await client.list({ namespace })).some((event) => event.regarding.name === regarding.metadata.name && event.reason.length === 128);
      await until('the event', found);
      stop.abort();
      await running;
    });

    it('an object of a megabyte is listed, watched and read whole', async () => {
      const { transport, namespace } = environment();
      await using cache = await cacheOf<ConfigMap>(environment(), configMaps);
      const maps = new ResourceClient<ConfigMap>(transport, configMaps);
      const data = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`k${i}`, '\\"é'.repeat(25_000)]));
      const made = await maps.create({ metadata: { name: 'megabyte', namespace }, data });
      await until('the object', () => cache.informer.hasSeen(made.metadata.resourceVersion ?? ''));
      expect(cache.informer.lister.get(`${namespace}/megabyte`)?.data).toEqual(data);
      expect((await maps.list({ namespace, fieldSelector: 'metadata.name=megabyte' }))[0]?.data).toEqual(data);
    });
  });

  describe('a definition', () => {
    it('that is deleted takes its objects out of caches; made again, they fill', { timeout: 240_000 }, async () => {
      const { transport, namespace, withdraw, define } = environment();
      const client = new ResourceClient<Widget>(transport, widgets);
      await client.create({ metadata: { name: 'lost', namespace } });
      await using cache = await cacheOf<Widget>(environment(), widgets);
      const { informer } = cache;
      expect(informer.lister.get(`${namespace}/lost`)).toBeDefined();
      await withdraw();
      await until('a reason', () => informer.refusal !== undefined);
      expect(informer.lister.size).toBe(0);
      await define();
      const made = await client.create({ metadata: { name: 'again', namespace } });
      // A watch that is refused for long is tried once a minute.
      for (let i = 0; i < 4 && informer.lister.size === 0; i += 1) await until('time', () => informer.lister.size > 0).catch(() => {});
      expect(informer.lister.list().map((object) => object.metadata.uid)).toEqual([made.metadata.uid]);
      expect(informer.refusal).toBeUndefined();
    });
  });
}
