// One client in a process of its own: fills its cache, then follows the flood. Prints its figures as JSON.
import type { V1Pod } from '@kubernetes/client-node';

const [, , client, url = '', objectsText, floodsText] = process.argv;
const objects = Number(objectsText);
const floods = Number(floodsText);

interface Followed {
  /** Resolves when the cache is full. */
  readonly synced: Promise<void>;
  readonly size: () => number;
  readonly stop: () => void;
}

async function ours(watchList: boolean, onUpdate: () => void): Promise<Followed> {
  const kube = await import('../src/index.ts');
  const transport = kube.createTransport(kube.plainConfig(url), { userAgent: 'bench/1' });
  const pods = kube.defineResource('v1', 'Pod', 'pods');
  const informer = new kube.Informer({
    transport,
    resource: pods,
    watchList,
    clock: kube.systemClock,
    random: Math.random,
    log: kube.silentLog,
  });
  informer.addHandler({ onUpdate });
  const stop = new AbortController();
  void informer.run(stop.signal);
  return { synced: informer.waitForSync(60_000), size: () => informer.lister.size, stop: () => stop.abort() };
}

async function theirs(onUpdate: () => void): Promise<Followed> {
  const library = await import('@kubernetes/client-node');
  const config = new library.KubeConfig();
  config.loadFromClusterAndUser({ name: 'c', server: url, skipTLSVerify: true }, { name: 'u' });
  const api = config.makeApiClient(library.CoreV1Api);
  const informer = library.makeInformer<V1Pod>(config, '/api/v1/pods', () => api.listPodForAllNamespaces());
  informer.on('update', onUpdate);
  return { synced: informer.start(), size: () => informer.list().length, stop: () => void informer.stop() };
}

async function main(): Promise<void> {
  let updates = 0;
  let finish = (): void => {};
  const all = new Promise<void>((resolve) => (finish = resolve));
  const onUpdate = (): void => {
    updates += 1;
    if (updates === floods) finish();
  };
  // Loading code is not what is compared here.
  const begin = performance.now();
  const followed = client === 'client-node' ? await theirs(onUpdate) : await ours(client === 'kube-stream', onUpdate);
  const loaded = performance.now();
  await followed.synced;
  const listMs = performance.now() - loaded;
  if (followed.size() !== objects) throw new Error(`${client}: ${followed.size()} of ${objects} objects`);
  await new Promise((resolve) => setTimeout(resolve, 300));
  globalThis.gc?.();
  const rss = process.memoryUsage().rss;
  const heap = process.memoryUsage().heapUsed;
  const cpu = process.cpuUsage();
  const from = performance.now();
  await fetch(`${url}/go`);
  await all;
  const watchMs = performance.now() - from;
  const used = process.cpuUsage(cpu);
  followed.stop();
  const figures = {
    client,
    loadMs: loaded - begin,
    listMs,
    eventsPerSecond: floods / (watchMs / 1000),
    cpuMicros: (used.user + used.system) / floods,
    rss,
    heap,
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`, () => process.exit(0));
}

await main();
