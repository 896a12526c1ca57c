import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createTransport, Informer, ResourceClient, silentLog, systemClock, type Transport } from '@agentfleet/kube';
import { up } from '../../../hack/cluster/index.ts';
import { startAssets, type Assets } from './assets.ts';
import { configMaps, type ConfigMap } from './environment.ts';

/** Returns a folder with `etcd` and `kube-apiserver`: envtest's when it is named, else the running cluster's. */
async function assetsFolder(): Promise<string> {
  const named = process.env['KUBEBUILDER_ASSETS'];
  return named ? named : dirname((await up({ tier: 'control-plane' })).bin('kube-apiserver'));
}

describe('a separate API server, as envtest starts it', () => {
  let assets: Assets | undefined;
  let transport: Transport | undefined;
  beforeAll(async () => {
    const folder = await assetsFolder();
    expect(existsSync(join(folder, 'etcd'))).toBe(true);
    assets = await startAssets(folder);
    transport = createTransport(assets.config, { userAgent: 'contract/1' });
  }, 120_000);
  afterAll(async () => {
    await transport?.close();
    await assets?.stop();
  }, 60_000);

  it('is met again by caches after each of its deaths', { timeout: 180_000 }, async () => {
    if (transport === undefined || assets === undefined) throw new Error('it did not start');
    const maps = new ResourceClient<ConfigMap>(transport, configMaps);
    const common = { clock: systemClock, random: Math.random, log: silentLog };
    const informers = Array.from(
      { length: 5 },
      () => new Informer<ConfigMap>({ transport: maps.transport, resource: configMaps, ...common }),
    );
    const stop = new AbortController();
    const running = informers.map((informer) => informer.run(stop.signal));
    await Promise.all(informers.map((informer) => informer.waitForSync(60_000)));
    const back: number[] = [];
    for (let death = 1; death <= 2; death += 1) {
      await assets.restart();
      const begin = performance.now();
      const made = await maps.create({ metadata: { name: `death-${death}`, namespace: 'default' } });
      const { resourceVersion = '' } = made.metadata;
      const isShown = (): void => expect(informers.every((informer) => informer.hasSeen(resourceVersion))).toBe(true);
      await vi.waitFor(isShown, { timeout: 60_000, interval: 5 });
      back.push(performance.now() - begin);
    }
    // For readers of the log; a bound would depend on the machine.
    console.log(`caches were back ${back.map((ms) => `${ms.toFixed(0)} ms`).join(', ')} after the API server`);
    expect(informers.map((informer) => informer.lister.get('default/death-2')?.metadata.name)).toEqual(Array(5).fill('death-2'));
    stop.abort();
    await Promise.all(running);
  });
});
