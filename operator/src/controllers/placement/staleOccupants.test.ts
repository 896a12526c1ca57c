import { findCondition } from '@agentfleet/kube';
import type { ExpertPool } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { expect, test } from 'vitest';
import { slotLabel } from '../../placement/index.ts';
import type { Deployment, Pod } from '../../runtime/resources.ts';
import { slimPod } from '../../runtime/transforms.ts';
import { type PlacementSnapshot, staleOccupants, occupantsOf, type Occupant } from './decide.ts';
import { gpuPool, onGpu, snapshot } from './testing/box.ts';
import { settle } from './testing/world.ts';

const admitted = (world: PlacementSnapshot): readonly string[] =>
  world.pools.flatMap(({ metadata, status }) =>
    (status?.plan?.assignments ?? []).flatMap(({ item, slot, admitted: may }) => (may ? [`${metadata.name}/${item} ${slot}`] : [])),
  );

const of = (pool: ExpertPool, item: string, slot: string): Occupant => ({ owner: `ExpertPool platform/${pool.metadata.name}`, item, slot });

const at = (name: string, slot: string): ExpertPool => gpuPool(name, [onGpu('gen', 'Generalist', '30Gi', slot)]);

const moved = (pool: ExpertPool, slot: string): ExpertPool => ({ ...pool, spec: at(pool.metadata.name, slot).spec });

test('an engine that moved away has its memory until its pods are gone: none starts in it', () => {
  const first = at('a', 'dgx-1/gpu0');
  const late = at('b', 'dgx-1/gpu0');
  const rest = settle(snapshot({ pools: [first], progress: () => 'Ready' }));
  expect(admitted(rest)).toEqual(['a/gen dgx-1/gpu0']);
  const pools = [moved(rest.pools[0] as ExpertPool, 'dgx-1/gpu1'), late];
  const occupants = [of(first, 'gen', 'dgx-1/gpu0')];
  const waiting = settle({ ...rest, pools, occupants });
  expect(waiting.pools[1]?.status?.plan?.assignments).toMatchObject([{ slot: 'dgx-1/gpu0', admitted: false }]);
  expect(admitted(waiting)).toEqual(['a/gen dgx-1/gpu1']);
  expect(findCondition(waiting.pools[1]?.status?.conditions, 'PlacementFeasible')?.message).toBe(
    '1 engines on 1 GPUs, mode DRA; gen starts when the pods of an engine that left dgx-1/gpu0 are gone',
  );
  expect(admitted(settle({ ...waiting, occupants: [] }))).toEqual(['a/gen dgx-1/gpu1', 'b/gen dgx-1/gpu0']);
});

test('two experts that change places are both let go first, and then start', () => {
  const experts = (first: string, second: string): ExpertPool =>
    gpuPool('p', [onGpu('gen', 'Generalist', '30Gi', first), onGpu('js', 'Specialist', '30Gi', second)]);
  const pool = experts('dgx-1/gpu0', 'dgx-1/gpu1');
  const rest = settle(snapshot({ pools: [pool], progress: () => 'Ready' }));
  const crossed = [{ ...(rest.pools[0] as ExpertPool), spec: experts('dgx-1/gpu1', 'dgx-1/gpu0').spec }];
  const between = settle({ ...rest, pools: crossed, occupants: [of(pool, 'gen', 'dgx-1/gpu0'), of(pool, 'js', 'dgx-1/gpu1')] });
  // Without a turn to start a Deployment has no pods: none waits for the other for ever.
  expect(between.pools[0]?.status?.plan?.assignments).toMatchObject([
    { item: 'gen', slot: 'dgx-1/gpu1', admitted: false },
    { item: 'js', slot: 'dgx-1/gpu0', admitted: false },
  ]);
  expect(admitted(settle({ ...between, occupants: [] }))).toEqual(['p/gen dgx-1/gpu1', 'p/js dgx-1/gpu0']);
});

const marked = (own: Readonly<Record<string, string>>, slot: string): Pod => ({
  metadata: { name: 'x', namespace: 'platform', labels: own, annotations: { [slotLabel]: slot } },
});

test('occupants are engines of all kinds with all their slots, and no pods that hold a GPU for them', () => {
  const pods = [
    marked({ [labels.pool]: 'a', [labels.expert]: 'gen', [labels.revision]: 'r1' }, 'dgx-1/gpu0,dgx-1/gpu1'),
    marked({ [labels.model]: 'judge' }, 'dgx-1/gpu2'),
    marked({ [labels.component]: 'gpu-holder' }, 'dgx-1/gpu3'),
  ];
  const deployment = (replicas: number): Deployment => {
    const { metadata } = marked({ [labels.pool]: 'a', [labels.expert]: 'js' }, 'dgx-1/gpu3');
    return { metadata: { ...metadata, annotations: {} }, spec: { replicas, template: { metadata } } };
  };
  const found = occupantsOf(pods, [deployment(0)]);
  expect(found).toEqual([
    { owner: 'ExpertPool platform/a', item: 'gen.r1', slot: 'dgx-1/gpu0' },
    { owner: 'ExpertPool platform/a', item: 'gen.r1', slot: 'dgx-1/gpu1' },
    { owner: 'EnergyModel platform/judge', item: 'judge', slot: 'dgx-1/gpu2' },
  ]);
  expect(occupantsOf([], [deployment(1)])).toEqual([{ owner: 'ExpertPool platform/a', item: 'js', slot: 'dgx-1/gpu3' }]);
  expect([...staleOccupants(found, [])]).toEqual(['dgx-1/gpu0', 'dgx-1/gpu1', 'dgx-1/gpu2']);
  const over = (['Failed', 'Succeeded'] as const).flatMap((phase) => pods.map((pod) => slimPod({ ...pod, status: { phase } })));
  expect(occupantsOf(over, [])).toEqual([]);
});
