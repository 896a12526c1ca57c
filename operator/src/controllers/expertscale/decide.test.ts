import { findCondition } from '@agentfleet/kube';
import type { ExpertPool, ExpertScale } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { scaledPool, withReplicas } from '../../pools/scales.ts';
import { unplacedEngines } from '../placement/decide.ts';
import { box, device, gpuPool, onGpu, snapshot } from '../placement/testing/box.ts';
import { now, settle } from '../placement/testing/world.ts';
import { heldPods, lackOf } from '../placement/view.ts';
import { rolloutStatus } from '../../revisions/testing/status.ts';
import { decideScale, type ScaleSnapshot } from './decide.ts';

const chat = { type: 'Replay', replay: { format: 'Chat' } };
const pool = gpuPool('p', [
  onGpu('gen', 'Generalist', '10Gi'),
  { name: 'hrm', role: 'Planner' },
  { name: 'chat', role: 'Specialist', engine: chat },
]);

function scaleOf(
  expert: string,
  replicas: number,
  more: { readonly name?: string; readonly created?: string; readonly granted?: number } = {},
): ExpertScale {
  const { name = `p-${expert}`, created = '2030-01-01T00:00:00Z', granted } = more;
  return {
    apiVersion: 'agentfleet.dev/v1alpha1',
    kind: 'ExpertScale',
    metadata: { name, namespace: 'platform', uid: name, generation: 3, creationTimestamp: created },
    spec: { poolRef: { name: 'p' }, expert, replicas },
    ...(granted === undefined ? {} : { status: { granted, replicas: 0, ready: 0, selector: '' } }),
  };
}

function running(of: ExpertPool, expert: string, replicas: number, ready: number): ExpertPool {
  const state = { name: expert, role: 'Generalist', phase: 'Degraded', replicas, ready, message: 'an image is pulled' } as const;
  return { ...of, status: { ...of.status, experts: [state] } };
}

/** The solver's word about pods of `gen`, beside what is there. */
const lackIn =
  (world: ReturnType<typeof snapshot>) =>
  (replicas: number): string | undefined => {
    const pools = world.pools.map((one, index) => (index === 0 ? withReplicas(one, 'gen', replicas) : one));
    const before = unplacedEngines(world, now);
    return lackOf(world.pools[0]!, 'gen', before, unplacedEngines({ ...world, pools }, now));
  };
const at = (scale: ExpertScale, more: Partial<ScaleSnapshot> = {}): ScaleSnapshot => ({
  scale,
  pool,
  first: scale,
  held: () => 0,
  lack: () => undefined,
  ...more,
});

/** What is granted, the reason of Ready, and what kstatus looks at beside it. */
function short(of: ScaleSnapshot): string {
  const { granted, conditions } = decideScale(of, now);
  const types = conditions?.map(({ type }) => type).filter((type) => type !== 'Ready');
  return [granted ?? '-', findCondition(conditions, 'Ready')?.reason, ...(types ?? [])].join(' ');
}

const elder = scaleOf('hrm', 1, { name: 'elder' });

test.each<readonly [string, ScaleSnapshot, string]>([
  ['what needs no GPU is granted', at(scaleOf('hrm', 5), { lack: () => 'none' }), '5 Progressing Reconciling'],
  ['pods that answer', at(scaleOf('hrm', 5), { pool: running(pool, 'hrm', 5, 5) }), '5 Ready'],
  ['none at all', at(scaleOf('hrm', 0)), '0 ScaledToZero'],
  ['none, when the last pod is gone', at(scaleOf('hrm', 0), { pool: running(pool, 'hrm', 1, 1) }), '0 Progressing Reconciling'],
  ['as many as fit', at(scaleOf('gen', 9), { lack: (replicas) => (replicas > 4 ? 'short' : undefined) }), '4 NoRoomOnGPU Stalled'],
  [
    'what runs stays',
    at(scaleOf('gen', 9), { pool: withReplicas(pool, 'gen', 3), held: () => 3, lack: () => 'short' }),
    '3 NoRoomOnGPU Stalled',
  ],
  [
    'what was granted and got no memory goes, but for one',
    at(scaleOf('gen', 9), { pool: withReplicas(pool, 'gen', 3), lack: () => 'short' }),
    '1 NoRoomOnGPU Stalled',
  ],
  [
    'none comes from none without room',
    at(scaleOf('gen', 9), { pool: withReplicas(pool, 'gen', 0), lack: () => 'short' }),
    '0 NoRoomOnGPU Stalled',
  ],
  [
    'fewer always fit',
    at(scaleOf('gen', 2), { pool: withReplicas(pool, 'gen', 3), held: () => 3, lack: () => 'short' }),
    '2 Progressing Reconciling',
  ],
  ['no pool', at(scaleOf('gen', 2), { pool: undefined }), '- PoolNotFound Stalled'],
  ['no expert', at(scaleOf('none', 2)), '- ExpertNotFound Stalled'],
  ['a model behind the gateway', at(scaleOf('chat', 2)), '- ExpertWithoutPods Stalled'],
  ['two for one', at(scaleOf('hrm', 2), { first: elder }), '- AlreadyScaled Stalled'],
])('an ExpertScale: %s', (_, of, expected) => {
  expect(short(of)).toBe(expected);
});

describe('room on GPUs', () => {
  test('is what the plan of all pools leaves', () => {
    const other = gpuPool('q', [onGpu('gen', 'Generalist', '30Gi', 'dgx-1/gpu1')]);
    const world = settle(snapshot({ pools: [gpuPool('p', [onGpu('gen', 'Generalist', '10Gi', 'dgx-1/gpu0')]), other] }), now);
    const lack = lackIn({ ...world, pools: [world.pools[0]!] });
    expect(short(at(scaleOf('gen', 9), { pool: world.pools[0], lack }))).toBe('3 NoRoomOnGPU Stalled');
    expect(findCondition(decideScale(at(scaleOf('gen', 9), { pool: world.pools[0], lack }), now).conditions, 'Ready')?.message).toMatch(
      /^GPUs have room for 3 of 9 pods: .*dgx-1\/gpu0/,
    );
    expect(short(at(scaleOf('gen', 3), { pool: world.pools[0], lack }))).toBe('3 Progressing Reconciling');
  });

  describe('of which too much was granted comes down to what fits', () => {
    const cluster = box([device(0)]);
    const older = gpuPool('o', [onGpu('e', 'Specialist', '15Gi')]);
    const first = { ...older, metadata: { ...older.metadata, creationTimestamp: '2029-01-01T00:00:00Z' } };
    const grants = (world: ReturnType<typeof snapshot>, ...asked: readonly number[]): readonly string[] => {
      const [p = pool] = world.pools;
      const held = heldPods(p, 'gen', world.revisions);
      return asked.map((replicas) => short(at(scaleOf('gen', replicas), { pool: p, held: () => held, lack: lackIn(world) })));
    };

    test.each([
      ['gen', {}],
      ['gen.', { rolloutPolicyRef: { name: 'careful' } }],
    ])('%s', (item, spec) => {
      const one = gpuPool('p', [onGpu('gen', 'Generalist', '10Gi')], spec);
      const alone = settle(snapshot({ pools: [one], cluster }), now);
      const beside = settle({ ...alone, pools: [...alone.pools, first] }, now);
      const over = settle({ ...beside, pools: beside.pools.map((of, index) => (index === 0 ? withReplicas(of, 'gen', 3) : of)) }, now);
      expect(over.pools[0]?.status?.plan?.assignments).toMatchObject([
        { item: expect.stringContaining(item) as string, bytes: 10 * 2 ** 30 },
      ]);
      expect(grants(over, 3, 2, 50)).toEqual(['2 NoRoomOnGPU Stalled', '2 Progressing Reconciling', '2 NoRoomOnGPU Stalled']);
      const big = gpuPool('a', [onGpu('big', 'Generalist', '35Gi')]);
      const none = settle(snapshot({ pools: [withReplicas(one, 'gen', 3), big], cluster }), now);
      expect(grants(none, 1, 50)).toEqual(['1 Progressing Reconciling', '1 NoRoomOnGPU Stalled']);
    });
  });
});

test('a pool whose serving revision has no record keeps the pods that it has', () => {
  const one = withReplicas(gpuPool('p', [onGpu('gen', 'Generalist', '10Gi')], { rolloutPolicyRef: { name: 'careful' } }), 'gen', 2);
  const rest = settle(snapshot({ pools: [one] }), now);
  const lost = { ...rest.pools[0]!, status: { ...rest.pools[0]!.status, rollout: rolloutStatus({ stable: 'gone' }) } };
  const world = { ...rest, pools: [lost] };
  const grant = (replicas: number): ScaleSnapshot =>
    at(scaleOf('gen', replicas), { pool: lost, held: () => heldPods(lost, 'gen', world.revisions), lack: lackIn(world) });
  expect([3, 2, 1].map((replicas) => short(grant(replicas)))).toEqual([
    '2 NoRoomOnGPU Stalled',
    '2 Progressing Reconciling',
    '1 Progressing Reconciling',
  ]);
  expect(findCondition(decideScale(grant(3), now).conditions, 'Ready')?.message).toContain('nobody can say what its engines need');
});

describe('a pool', () => {
  const counts = ({ spec }: ExpertPool): readonly number[] => spec.experts.map(({ replicas }) => replicas);

  test('runs what was granted, not what is asked for, and by the oldest', () => {
    const scales = [
      scaleOf('hrm', 7, { granted: 4 }),
      scaleOf('hrm', 9, { name: 'later', created: '2031-01-01T00:00:00Z', granted: 9 }),
      scaleOf('gen', 3),
    ];
    expect(counts(scaledPool(pool, scales))).toEqual([1, 4, 1]);
    expect(scaledPool(pool, [])).toBe(pool);
  });
});
