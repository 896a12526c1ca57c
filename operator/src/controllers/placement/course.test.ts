import { findCondition } from '@agentfleet/kube';
import { VirtualClock } from '@agentfleet/kube/testing';
import type { ExpertPool } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { withReplicas } from '../../pools/scales.ts';
import { type Progress, decidePlacement, type PlacementSnapshot, unplacedEngines } from './decide.ts';
import type { Owner, SlotBook } from './model/index.ts';
import { Absences } from './observe.ts';
import { readBook, writeBindings } from './slots.ts';
import { box, device, gpuPool, onGpu, slice, snapshot, uuids } from './testing/box.ts';
import { hybrid, judge, now, of, places, settle, conditionValue } from './testing/world.ts';

const gib = 2 ** 30;

describe('engines of one GPU', () => {
  test('start one after another, the more important ones first', () => {
    const pool = gpuPool('p', [onGpu('e-py', 'Specialist', '5Gi', 'dgx-1/gpu0'), onGpu('gen', 'Generalist', '5Gi', 'dgx-1/gpu0')]);
    const ready = new Set<string>();
    const progress = (_: unknown, { item }: { item: string }): Progress => (ready.has(item) ? 'Ready' : 'Starting');
    const admitted = (world: PlacementSnapshot): readonly string[] =>
      (world.pools[0]?.status?.plan?.assignments ?? []).filter((place) => place.admitted).map(({ item }) => item);
    const first = settle(snapshot({ pools: [pool], progress }));
    expect(admitted(first)).toEqual(['gen']);
    ready.add('gen');
    expect(admitted(settle(first))).toEqual(['e-py', 'gen']);
  });

  test('report for which engine they wait, of whichever owner', () => {
    const pools = ['a', 'b'].map((name) => gpuPool(name, [onGpu('gen', 'Generalist', '5Gi', 'dgx-1/gpu0')]));
    const progress = ({ name }: Owner): Progress => (name === 'a' ? 'Absent' : 'Ready');
    const world = settle(snapshot({ pools, progress }));
    const [first, second] = world.pools.map(({ status }) => findCondition(status?.conditions, 'PlacementFeasible')?.message);
    expect(first).toBe('1 engines on 1 GPUs, mode DRA');
    expect(second).toBe('1 engines on 1 GPUs, mode DRA; gen starts after gen of ExpertPool platform/a on dgx-1/gpu0');
    expect(findCondition(settle({ ...world, progress: () => 'Ready' }).pools[1]?.status?.conditions, 'PlacementFeasible')?.message).toBe(
      first,
    );
  });

  test('wait two minutes for one that is never made, and no longer', async () => {
    const pools = ['a', 'b'].map((name) => gpuPool(name, [onGpu('gen', 'Generalist', '5Gi', 'dgx-1/gpu0')]));
    const clock = new VirtualClock();
    const absences = new Absences(clock);
    const progress = absences.over(({ name }: Owner): Progress => (name === 'a' ? 'Absent' : 'Ready'));
    const admitted = (world: PlacementSnapshot) => world.pools.map(({ status }) => status?.plan?.assignments[0]?.admitted);
    expect(absences.isWaiting()).toBe(false);
    let world = settle(snapshot({ pools, progress }));
    expect(admitted(world)).toEqual([true, false]);
    expect(absences.isWaiting()).toBe(true);
    await clock.advance(119_000);
    expect(admitted((world = settle(world)))).toEqual([true, false]);
    await clock.advance(1_000);
    expect(admitted((world = settle(world)))).toEqual([true, true]);
    expect(absences.isWaiting()).toBe(false);
  });

  test('do not wait for one that does not get on', () => {
    const pool = gpuPool('p', [onGpu('a', 'Generalist', '5Gi', 'dgx-1/gpu0'), onGpu('b', 'Specialist', '5Gi', 'dgx-1/gpu0')]);
    const world = settle(snapshot({ pools: [pool], progress: () => 'Stalled' }));
    expect(world.pools[0]?.status?.plan?.assignments.every(({ admitted }) => admitted)).toBe(true);
  });
});

describe('boards come and go', () => {
  const rest = settle(snapshot({ pools: [hybrid()], models: [judge()] }));
  const swapped = [0, 1, 2, 3].map((index) => (index === 2 ? device(2, {}, 'GPU-new') : device(index)));

  test('a swapped board needs a human; then its tenants get another claim', () => {
    const waiting = { ...rest, cluster: { ...rest.cluster, slices: box(swapped).slices } };
    const decision = decidePlacement(waiting, now);
    expect(conditionValue(decision, 'judge')).toMatchObject({ status: 'False', reason: 'SlotRebound' });
    expect(conditionValue(decision, 'judge')?.message).toContain('agentfleet.dev/approve-slot=dgx-1/gpu2=<uuid>');
    expect(places(of(decision, 'judge')?.plan)).toEqual(['judge dgx-1/gpu2']);
    expect(decision.bindings).toBeUndefined();
    const book = { ...rest.cluster.book, approved: new Map([['dgx-1/gpu2', 'GPU-new']]) };
    const after = settle({ ...waiting, cluster: { ...waiting.cluster, book } });
    const [before] = rest.models[0]?.status?.plan?.assignments ?? [];
    const [place] = after.models[0]?.status?.plan?.assignments ?? [];
    expect(place).toMatchObject({ slot: 'dgx-1/gpu2', uuid: 'GPU-new', admitted: true });
    expect(place?.claim).not.toBe(before?.claim);
    expect(after.claims.map(({ metadata }) => metadata.name)).not.toContain(before?.claim);
    expect(writeBindings(after.cluster.book.bindings)).toContain('dgx-1/gpu2 GPU-new');
  });

  test('the names hold when the book is lost: claims and plans hold them', () => {
    const claims = rest.claims as unknown as readonly { readonly metadata: { readonly annotations: Readonly<Record<string, string>> } }[];
    const recorded = claims.map(({ metadata: { annotations } }) => ({
      slot: annotations['agentfleet.dev/slot'] ?? '',
      uuid: annotations['agentfleet.dev/gpu-uuid'] ?? '',
      pciBusID: annotations['agentfleet.dev/gpu-pci-bus-id'],
    }));
    // gpu0 is gone, and what was gpu1 must not become gpu0.
    const cluster = box(
      [1, 2, 3].map((index) => device(index)),
      { recorded },
    );
    const decision = decidePlacement({ ...rest, cluster }, now);
    expect(decision.bindings).toContain('dgx-1/gpu1 GPU-1c');
    expect(decision.bindings).toContain('dgx-1/gpu0 GPU-7a');
  });

  test('a taint keeps who is pinned where he is, and lets others go elsewhere', () => {
    const taints = [{ key: 'gpu.nvidia.com/xid', value: '79', effect: 'NoExecute' as const }];
    const free = gpuPool('free', [onGpu('gen', 'Generalist', '5Gi')], { placement: { nvlink: 'Ignore' } });
    const alone = settle(snapshot({ pools: [free] }));
    const [place] = alone.pools[0]?.status?.plan?.assignments ?? [];
    const index = Number(place?.slot.at(-1));
    const sick = [0, 1, 2, 3].map((n) => device(n, n === index ? { taints } : {}));
    const moved = settle({ ...alone, cluster: { ...alone.cluster, slices: box(sick).slices } });
    expect(moved.pools[0]?.status?.plan?.assignments[0]?.slot).not.toBe(place?.slot);
    const pinned = decidePlacement(
      { ...rest, cluster: { ...rest.cluster, slices: box([0, 1, 2, 3].map((n) => device(n, n === 2 ? { taints } : {}))).slices } },
      now,
    );
    expect(conditionValue(pinned, 'judge')).toMatchObject({ status: 'False', reason: 'SlotTainted' });
    expect(places(of(pinned, 'judge')?.plan)).toEqual(['judge dgx-1/gpu2']);
  });

  test('when a board is lost, the less important give way to the more important', () => {
    const experts = [onGpu('gen', 'Generalist', '30Gi'), onGpu('e-py', 'Specialist', '30Gi')];
    const two = settle(snapshot({ pools: [gpuPool('p', experts)], cluster: box([device(0), device(1)]) }));
    const [pool] = two.pools as [ExpertPool];
    const home = pool.status?.plan?.assignments.find(({ item }) => item === 'gen')?.slot;
    const left = home === 'dgx-1/gpu0' ? device(1) : device(0);
    const after = settle({ ...two, cluster: { ...two.cluster, slices: box([left]).slices } });
    expect(after.pools[0]?.status?.plan?.assignments.map(({ item }) => item)).toEqual(['gen']);
    expect(findCondition(after.pools[0]?.status?.conditions, 'PlacementFeasible')).toMatchObject({ status: 'False' });
  });
});

describe('nodes that come and go', () => {
  const nodes = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `ip-10-0-0-${index}`);
  const boards = (node: string): string =>
    Array.from({ length: 8 }, (_, gpu) => `${node}/gpu${gpu} GPU-${node}-${gpu} 0000:0${gpu}:00.0\n`).join('');
  const book = (bindings: string): SlotBook => readBook({ metadata: {}, data: { bindings } });
  const gen = gpuPool('p', [onGpu('gen', 'Generalist', '9Gi')]);

  test('a thousand boards of nodes that were removed keep no engine from a place, and are forgotten', () => {
    const start = snapshot({ pools: [gen], cluster: box(undefined, { book: book(nodes(125).map(boards).join('')) }) });
    const decision = decidePlacement(start, now);
    expect(places(of(decision, 'p')?.plan)).toEqual(['gen dgx-1/gpu0']);
    expect(decision.bindings).toBe([0, 1, 2, 3].map((n) => `dgx-1/gpu${n} ${uuids[n]} 0000:0${n}:00.0\n`).join(''));
  });

  const here = ['dgx-1'];
  test.each([
    ['a spec', here, { pools: [gen, gpuPool('q', [onGpu('gen', 'Generalist', '9Gi', 'away/gpu5')])] }, {}],
    ['a line of the administrator', here, {}, { links: [{ a: 'away/gpu0', b: 'away/gpu1', type: 'NV' }] }],
    ['the node itself, without its driver', ['dgx-1', 'away'], {}, {}],
  ] as const)('a node that is away keeps all of its names for %s', (_, living, world, lines) => {
    const cluster = box(undefined, { nodes: living.map((name) => ({ metadata: { name } })), book: { ...book(boards('away')), ...lines } });
    const rest = settle(snapshot({ pools: [gen], ...world, cluster }));
    expect(writeBindings(rest.cluster.book.bindings)).toContain(boards('away'));
  });

  test('a node that is away keeps its names for an engine that was on it, and for a claim that is left', () => {
    const rest = settle(snapshot({ pools: [hybrid()] }));
    const away = { ...rest, cluster: { ...rest.cluster, slices: [slice([device(0, {}, 'GPU-x')], 'dgx-2')], nodes: [] } };
    const planned = settle(away);
    expect(planned.cluster.book.bindings.filter(({ slot }) => slot.startsWith('dgx-1/'))).toEqual(rest.cluster.book.bindings);
    // Not yet deleted.
    const claimed = decidePlacement({ ...away, pools: [] }, now);
    expect(claimed.bindings).toContain('dgx-1/gpu2 GPU-f0');
    expect(writeBindings(settle({ ...away, pools: [] }).cluster.book.bindings)).toBe('dgx-2/gpu0 GPU-x 0000:00:00.0\n');
  });

  test('a board that is gone is the reason for an engine that finds no other', () => {
    const none = snapshot({ pools: [gen], cluster: box([], { slices: [], book: book(boards('dgx-1')) }) });
    const condition = conditionValue(decidePlacement(none, now), 'p');
    expect(condition?.status).toBe('False');
    expect(condition?.message).toMatch(/see to the device/);
  });
});

describe('modes', () => {
  const pool = (spec: object = {}): ExpertPool => gpuPool('p', [onGpu('gen', 'Generalist', '5Gi')], { placement: spec });
  const plugin = {
    metadata: { name: 'dgx-1', labels: { 'nvidia.com/gpu.memory': '40960' } },
    status: { allocatable: { 'nvidia.com/gpu': '4' } },
  };

  test('two stacks on one node are refused with the cure, and nothing moves', () => {
    const decision = decidePlacement(snapshot({ pools: [pool()], cluster: box(undefined, { nodes: [plugin] }) }), now);
    expect(conditionValue(decision, 'p', 'PlacementConflict')).toMatchObject({ status: 'True', reason: 'TwoStacks' });
    expect(conditionValue(decision, 'p', 'PlacementConflict')?.message).toMatch(/remove one of them/);
    expect(of(decision, 'p')?.plan?.assignments).toEqual([]);
  });

  test('without DRA whole GPUs of the device plugin are taken, and the reasons for skipping reported', () => {
    const cluster = box([], { slices: [], resourceApi: false, nodes: [plugin] });
    const decision = decidePlacement(snapshot({ pools: [pool()], cluster }), now);
    expect(of(decision, 'p')?.plan).toMatchObject({ mode: 'WholeGPU', assignments: [{ item: 'gen' }] });
    expect(conditionValue(decision, 'p')?.message).toMatch(/mode WholeGPU; not DRA: .+; not Reservation: /);
    expect(decision.claims).toEqual([]);
  });

  test('a whole GPU is for one pod: an engine with several is refused it with the cure, and one that runs keeps its own', () => {
    const cluster = box([], { slices: [], resourceApi: false, nodes: [plugin] });
    const one = pool({ mode: 'WholeGPU' });
    const several = (of: ExpertPool): ExpertPool => withReplicas(of, 'gen', 2);
    const refused = decidePlacement(snapshot({ pools: [several(one)], cluster }), now);
    expect(of(refused, 'p')?.plan?.assignments).toEqual([]);
    expect(conditionValue(refused, 'p')).toMatchObject({
      reason: 'NoMode',
      message:
        'dgx-1/gpu0 has several pods, and they cannot share a GPU of the device plugin: give each engine 1 replica and a slot of its own, ' +
        'or install a DRA driver',
    });
    const rest = settle(snapshot({ pools: [one], cluster }));
    const more = { ...rest, pools: rest.pools.map(several) };
    expect(of(decidePlacement(more, now), 'p')?.plan).toEqual(rest.pools[0]?.status?.plan);
    expect([...unplacedEngines(rest, now).keys()]).toEqual([]);
    expect([...unplacedEngines(more, now).keys()]).toEqual(['ExpertPool platform/p gen']);
    // Two pods that an earlier version put there have their bytes in the plan.
    const big = gpuPool('p', [onGpu('gen', 'Generalist', '10Gi')], { placement: { mode: 'WholeGPU' } });
    const [{ status = {} } = big] = settle(snapshot({ pools: [big], cluster })).pools;
    const running = decidePlacement({ ...rest, pools: [{ ...several(one), status }] }, now);
    expect(of(running, 'p')?.plan).toEqual(status.plan);
    expect(conditionValue(running, 'p')?.reason).toBe('NoMode');
  });

  test('a better mode that comes up restarts nothing', () => {
    const { deviceClasses } = box();
    const rest = settle(snapshot({ pools: [pool()], cluster: box([], { slices: [], resourceApi: false, nodes: [plugin] }) }));
    expect(rest.pools[0]?.status?.plan?.mode).toBe('WholeGPU');
    const better = decidePlacement({ ...rest, cluster: { ...rest.cluster, resourceApi: true, deviceClasses } }, now);
    const before = rest.pools[0]?.status?.plan;
    const { mode, assignments } = of(better, 'p')?.plan ?? before ?? {};
    expect({ mode, assignments }).toEqual({ mode: before?.mode, assignments: before?.assignments });
  });

  test('bytes are claimed one by one where the driver shares a GPU by bytes', () => {
    const requestPolicy = { default: '40Gi', validRange: { min: '1Mi' } };
    const shared = { allowMultipleAllocations: true, capacity: { memory: { value: '40Gi', requestPolicy } } };
    const experts = ['a', 'b'].map((name, index) => onGpu(name, index === 0 ? 'Generalist' : 'Specialist', '9Gi', 'dgx-1/gpu0'));
    const decision = decidePlacement(snapshot({ pools: [gpuPool('p', experts)], cluster: box([device(0, shared)]) }), now);
    expect(decision.claims).toHaveLength(2);
    expect(JSON.stringify(decision.claims[0]?.spec)).toContain(String(9 * gib));
  });
});

test('a pool that wants no GPU any more gives its place back and has no condition', () => {
  const rest = settle(snapshot({ pools: [hybrid()] }));
  const [pool] = rest.pools as [ExpertPool];
  const plain = { ...pool, spec: { ...pool.spec, experts: pool.spec.experts.map((expert) => ({ ...expert, resources: {} })) } };
  const decision = decidePlacement({ ...rest, pools: [plain] }, now);
  expect(of(decision, 'hybrid')).toEqual({});
  expect(decision.remove).toHaveLength(3);
});
