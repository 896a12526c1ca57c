import type { KubeObject } from '@agentfleet/kube';
import { labels } from '@agentfleet/protocol/pool';
import { expect, test } from 'vitest';
import { holderAnnotation, slotLabel, uuidAnnotation } from '../../placement/index.ts';
import type { Pod } from '../../runtime/resources.ts';
import { Homes, observePlacement, type Ledger, type PlacementSources } from './observe.ts';
import { gpuPool, onGpu } from './testing/box.ts';

const slot = 'dgx-1/gpu0';
const pool = gpuPool('p', [onGpu('gen', 'Generalist', '5Gi', slot)], {}, 'platform');

/** What says that it is an engine on a GPU, one that holds it for others, and a claim of it. */
function marked(namespace: string, component: string): Pod {
  const own = { [labels.component]: component, [labels.pool]: 'p', ...(component === 'expert' ? { [labels.expert]: 'gone' } : {}) };
  const annotations = { [slotLabel]: slot, [uuidAnnotation]: 'GPU-1', [holderAnnotation]: 'holder-uid' };
  return { metadata: { name: component, namespace, uid: `${component}-uid`, labels: own, annotations } };
}

const cacheOf = (objects: readonly KubeObject[]) => ({
  addHandler: ({ onAdd }: { readonly onAdd: (object: KubeObject) => void }): void => objects.forEach(onAdd),
  lister: { list: () => objects, byIndex: () => objects, get: () => undefined },
});

/** Counts of these that matter: engines, uids in use, holders, bindings. `seen`: namespaces that had a pool before. */
function counted(namespace: string, ledger: Partial<Ledger>, seen: readonly string[] = []): readonly number[] {
  const none = cacheOf([]);
  const had = cacheOf(seen.map((home) => ({ metadata: { name: 'old', namespace: home } })));
  const caches = { pods: cacheOf([marked(namespace, 'expert')]), deployments: none, nodes: none, runtimeClasses: none };
  const claims = { isServed: true, informer: cacheOf([marked(namespace, 'placement')]) };
  const optional = { isServed: true, informer: none };
  const sources = {
    context: { caches, config: { namespace: 'agentfleet-system', images: {} } },
    gpus: { claims, slices: optional, deviceClasses: optional },
    records: none,
    homes: new Homes({ pools: had, energyModels: none } as never),
  } as unknown as PlacementSources;
  const reserve = [marked(namespace, 'gpu-holder')];
  const { occupants = [], inUse, cluster } = observePlacement(sources, { pools: [], models: [], book: undefined, reserve, ...ledger });
  return [occupants.length, inUse.size, cluster.holders.length, cluster.recorded.length];
}

test.each([
  ['count where there is a pool', 'platform', { pools: [pool] }, [], [1, 1, 1, 1]],
  ['count where there was one: its pods may not be gone', 'old', { pools: [pool] }, ['old'], [1, 1, 1, 1]],
  ['of a tenant count for nothing: they would keep all others from the GPU', 'team', { pools: [pool] }, ['old'], [0, 0, 0, 0]],
] as const)('pods that say they are on a GPU %s', (_, namespace, ledger, seen, is) => {
  expect(counted(namespace, ledger, seen)).toEqual(is);
});
