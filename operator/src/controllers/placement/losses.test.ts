import type { PlanStatus } from '@agentfleet/protocol/api';
import { findCondition } from '@agentfleet/kube';
import { describe, expect, test } from 'vitest';
import type { Node, PublishedSlice } from '../../runtime/resources.ts';
import { slimNode } from '../../runtime/transforms.ts';
import type { PlacementSnapshot } from './decide.ts';
import { emptyBook } from './slots.ts';
import { box, device, gpuPool, onGpu, slice, snapshot } from './testing/box.ts';
import { atRest, gpuOf, verifier, withSick } from './testing/losses.ts';
import { pluginNode } from './testing/plugin.ts';
import { readPool, wide } from './testing/wide.ts';
import { now, settle } from './testing/world.ts';

const planOf = ({ pools }: PlacementSnapshot): PlanStatus | undefined => pools[0]?.status?.plan;
const itemsOf = (world: PlacementSnapshot): readonly string[] => (planOf(world)?.assignments ?? []).map(({ item }) => item);
const feasible = ({ pools }: PlacementSnapshot) => findCondition(pools[0]?.status?.conditions, 'PlacementFeasible');

test('engines give way by rank when GPUs are lost, and come back with them', () => {
  const roles = [
    ['gen', 'Generalist'],
    ['hrm', 'Planner'],
    ['weigh', 'Draft'],
    ['e-py', 'Specialist'],
  ] as const;
  const pool = gpuPool(
    'p',
    roles.map(([name, role]) => onGpu(name, role, '30Gi')),
  );
  let world = atRest(5, { pools: [pool], models: [] });
  const gone: number[] = [];
  const order: string[] = [];
  while (itemsOf(world).length > 1) {
    const before = itemsOf(world);
    gone.push(gpuOf(world, 'gen') ?? 0);
    world = settle(withSick(world, 5, gone), now + gone.length);
    order.push(...before.filter((item) => !itemsOf(world).includes(item)));
  }
  expect(order).toEqual(['e-py', 'weigh', 'hrm']);
  expect(itemsOf(world)).toEqual(['gen']);
  expect(feasible(world)?.status).toBe('False');
  const back = settle(withSick(world, 5, []), now + 10);
  expect(new Set(itemsOf(back))).toEqual(new Set(roles.map(([name]) => name)));
  expect(feasible(back)).toMatchObject({ status: 'True', reason: 'Placed' });
});

describe('a GPU that has less memory than before', () => {
  const smaller = (world: PlacementSnapshot, memory: string): PlacementSnapshot => {
    const less = { capacity: { memory: { value: memory } } };
    return { ...world, cluster: { ...world.cluster, slices: box([device(0, less)]).slices } };
  };
  const full = (): PlacementSnapshot =>
    atRest(1, { pools: [gpuPool('p', [onGpu('gen', 'Generalist', '30Gi', 'dgx-1/gpu0'), onGpu('e-py', 'Specialist', '2Gi')])] });

  test('is left by the least important first', () => {
    expect(itemsOf(settle(smaller(full(), '32Gi'), now))).toEqual(['gen']);
  });

  test('is given to no engine for which it is too small', () => {
    expect(itemsOf(settle(smaller(full(), '24Gi'), now))).toEqual(['e-py']);
  });
});

describe('a node whose driver has published a part of its new pool', () => {
  const part = (name: string, devices: readonly number[], generation: number): PublishedSlice => {
    const { spec } = slice(
      devices.map((index) => device(index)),
      'dgx-1',
      generation,
    );
    return { metadata: { name }, spec: { ...spec, pool: { ...spec.pool, resourceSliceCount: 2 } } };
  };
  const more = slice([device(4), device(5)], 'dgx-2');
  const items = [onGpu('core', 'Generalist', '30Gi'), onGpu('e1', 'Specialist', '30Gi'), onGpu('e2', 'Specialist', '30Gi')];
  const start = (others: readonly PublishedSlice[]): ((first: number, world?: PlacementSnapshot) => PlacementSnapshot) => {
    return (first, world = snapshot({ pools: [gpuPool('p', items)], present: () => true })) => {
      const slices = [part('a', [0, 1], first), part('b', [2, 3], 1), ...others];
      return { ...world, cluster: { ...world.cluster, nodes: [], slices } };
    };
  };

  test.each([
    ['beside another node', [more]],
    ['alone', []],
  ])('keeps its engines where they are: %s', (_, others) => {
    const at = start(others);
    const before = settle(at(1), now);
    expect(itemsOf(before)).toHaveLength(3);
    const between = settle(at(2, before), now + 1);
    expect(between.pools).toEqual(before.pools);
    expect(between.cluster.book.bindings).toEqual(before.cluster.book.bindings);
    expect(between.cluster.book.problems).toContain('dgx-1: pool dgx-1 has 1 of its 2 ResourceSlices: wait for the driver');
  });

  test('gets no new engine, and says why', () => {
    const at = start([]);
    const before = settle(at(1), now);
    const asked = gpuPool('q', [onGpu('late', 'Specialist', '2Gi', 'dgx-1/gpu0')]);
    const grown = gpuPool('p', [...items, onGpu('late', 'Specialist', '2Gi')]);
    const { status = {} } = before.pools[0] ?? {};
    const between = settle({ ...at(2, before), pools: [{ ...grown, status }, asked] }, now + 1);
    expect(planOf(between)?.assignments).toEqual(planOf(before)?.assignments);
    expect(feasible(between)).toMatchObject({ status: 'False', reason: 'Unhealthy' });
    const refused = findCondition(between.pools[1]?.status?.conditions, 'PlacementFeasible');
    expect(refused).toMatchObject({
      status: 'False',
      reason: 'SlotPending',
      message: expect.stringContaining('wait for the driver') as string,
    });
    const whole = settle(at(1, between), now + 2);
    expect(whole.pools.map(({ status: told }) => told?.plan?.assignments.length)).toEqual([4, 1]);
  });
});

describe('a node that takes no pods', () => {
  const closing = (key: string) => [{ key: `node.kubernetes.io/${key}`, effect: 'NoSchedule' }];
  const ways: readonly (readonly [string, Node['spec']])[] = [
    ['cordoned', { unschedulable: true }],
    ['not ready', { taints: closing('not-ready') }],
    ['unreachable', { taints: closing('unreachable') }],
  ];
  const gpus = ['dgx-1', 'dgx-2'].map((node, at) => slice([device(2 * at), device(2 * at + 1)], node));
  /** As the cache keeps it, with the first node in this state. */
  const cluster = (spec: Node['spec'] = {}) =>
    box([], { slices: gpus, nodes: ['dgx-1', 'dgx-2'].map((name, at) => slimNode({ metadata: { name }, ...(at === 0 ? { spec } : {}) })) });
  const core = onGpu('core', 'Generalist', '30Gi');
  const slotsIn = (world: PlacementSnapshot) => (planOf(world)?.assignments ?? []).map(({ item, slot }) => `${item} ${slot.split('/')[0]}`);

  test.each(ways)('keeps its engines, and gets no new one: %s', (_, spec) => {
    const before = settle(snapshot({ pools: [gpuPool('p', [core])], cluster: cluster(), present: () => true }), now);
    expect(slotsIn(before)).toEqual(['core dgx-1']);
    const grown = gpuPool('p', [core, ...['e1', 'e2', 'e3'].map((name) => onGpu(name, 'Specialist', '30Gi'))]);
    const { status = {} } = before.pools[0] ?? {};
    const two = { ...grown, status, spec: { ...grown.spec, experts: grown.spec.experts.slice(0, 3) } };
    const closed = settle({ ...before, cluster: { ...cluster(spec), book: before.cluster.book }, pools: [two] }, now + 1);
    expect(slotsIn(closed)).toEqual(['core dgx-1', 'e1 dgx-2', 'e2 dgx-2']);
    expect(feasible(closed)).toMatchObject({ status: 'True', reason: 'Placed' });
    const more = { ...grown, status: closed.pools[0]?.status ?? {} };
    const full = settle({ ...closed, pools: [more] }, now + 2);
    expect(slotsIn(full)).toEqual(slotsIn(closed));
    expect(feasible(full)).toMatchObject({ status: 'False' });
    const opened = settle({ ...full, cluster: { ...full.cluster, nodes: cluster().nodes } }, now + 3);
    expect(slotsIn(opened)).toEqual(['core dgx-1', 'e1 dgx-2', 'e2 dgx-2', 'e3 dgx-1']);
  });

  test.each([
    ['cordoned', 'names its slot', 'dgx-1/gpu0', 'NodeCordoned', 'it is cordoned'],
    ['cordoned', 'names none', undefined, 'NodeCordoned', 'it is cordoned'],
    ['not ready', 'names its slot', 'dgx-1/gpu0', 'NodeUnschedulable', 'node.kubernetes.io/not-ready'],
    ['not ready', 'names none', undefined, 'NodeUnschedulable', 'node.kubernetes.io/not-ready'],
  ])('is the reason, when %s, for an engine that %s', (way, _, slot, reason, words) => {
    const nodes = [slimNode({ metadata: { name: 'dgx-1' }, spec: ways.find(([name]) => name === way)?.[1] ?? {} })];
    const pool = gpuPool('p', [onGpu('core', 'Generalist', '30Gi', slot)]);
    const reported = feasible(settle(snapshot({ pools: [pool], cluster: box([device(0)], { nodes }) }), now));
    expect(reported).toMatchObject({ status: 'False', reason });
    expect(reported?.message).toContain(`node dgx-1 takes no pods (${words})`);
  });

  test('is not named by an engine that runs there while another one lacks memory', () => {
    const before = settle(
      snapshot({ pools: [gpuPool('p', [onGpu('core', 'Generalist', '30Gi', 'dgx-1/gpu0')])], cluster: cluster() }),
      now,
    );
    const { status = {} } = before.pools[0] ?? {};
    const grown = gpuPool('p', [onGpu('core', 'Generalist', '30Gi', 'dgx-1/gpu0'), onGpu('big', 'Specialist', '60Gi', 'dgx-2/gpu0')]);
    const after = settle({ ...before, cluster: { ...cluster({ unschedulable: true }) }, pools: [{ ...grown, status }] }, now + 1);
    expect(feasible(after)).toMatchObject({ status: 'False', reason: 'NotEnoughMemory' });
  });

  test('holds what a device plugin counts to the same', () => {
    const nodes = [slimNode({ ...pluginNode(), spec: { unschedulable: true } })];
    const world = snapshot({
      pools: [gpuPool('p', [core])],
      cluster: box([], { slices: [], resourceApi: false, nodes, runtimeClass: true }),
    });
    expect(feasible(settle(world, now))).toMatchObject({ status: 'False', reason: 'NodeCordoned' });
  });
});

describe('an engine of a cordoned node', () => {
  const gpus = [slice([device(0), device(1)], 'dgx-1'), slice([device(2), device(3)], 'dgx-2')];
  const nodes = (...closed: readonly Node[]) =>
    ['dgx-1', 'dgx-2'].map((name) => closed.find(({ metadata }) => metadata.name === name) ?? slimNode({ metadata: { name } }));
  const cordoned = (name: string): Node => slimNode({ metadata: { name }, spec: { unschedulable: true } });
  const notReady = slimNode({
    metadata: { name: 'dgx-1' },
    spec: { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' }] },
  });
  const core = onGpu('core', 'Generalist', '30Gi');
  const pair = (node: string, a: number, b: number) => ({ a: `${node}/gpu${a}`, b: `${node}/gpu${b}`, type: 'NV' as const });
  const fill = (...names: readonly string[]) => names.map((name) => onGpu(name, 'Specialist', '30Gi'));
  const without = (world: PlacementSnapshot, closed: readonly Node[], ...gone: readonly string[]): PlacementSnapshot =>
    settle(
      {
        ...world,
        cluster: { ...world.cluster, nodes: nodes(...closed) },
        runs: (_, { item, slot }) => !gone.includes(`${item} ${slot.split('/')[0]}`),
      },
      now + 1,
    );
  const rest = (experts: Parameters<typeof gpuPool>[1], parts: Partial<PlacementSnapshot> = {}, spec: object = {}): PlacementSnapshot =>
    settle(snapshot({ pools: [gpuPool('p', experts, { ...spec })], cluster: box([], { slices: gpus, nodes: nodes() }), ...parts }), now);
  const nodesOf = (world: PlacementSnapshot, at = 0): readonly string[] =>
    (world.pools[at]?.status?.plan?.assignments ?? []).map(({ item, slot }) => `${item} ${slot.split('/')[0]}`);

  test('stays while its pods run there, and goes where there is room when they are gone', () => {
    const before = rest([core]);
    const running = without(before, [cordoned('dgx-1')]);
    expect(running.pools).toEqual(before.pools);
    const moved = without(running, [cordoned('dgx-1')], 'core dgx-1');
    expect(nodesOf(moved)).toEqual(['core dgx-2']);
    expect(feasible(moved)).toMatchObject({ status: 'True', reason: 'Placed' });
    expect(moved.claims.map(({ metadata }) => metadata.name)).not.toEqual(before.claims.map(({ metadata }) => metadata.name));
    // Nothing goes back when the node opens.
    expect(without(moved, []).pools).toEqual(moved.pools);
  });

  test('alone goes: its neighbours that run stay, those of its GPU too', () => {
    const small = ['e1', 'e2', 'e3', 'e4'].map((name) => onGpu(name, 'Specialist', '17Gi'));
    const before = rest(small);
    const [first, ...others] = nodesOf(before).filter((place) => place.endsWith('dgx-1'));
    expect(others.length).toBeGreaterThan(0);
    const after = without(before, [cordoned('dgx-1')], first ?? '');
    expect(nodesOf(after)).toEqual(nodesOf(before).map((place) => (place === first ? place.replace('dgx-1', 'dgx-2') : place)));
  });

  test.each([
    ['is not ready', [notReady], [core]],
    ['is open', [], [core]],
  ])('keeps its place without a pod where the node %s', (_, closed, experts) => {
    const before = rest(experts);
    expect(nodesOf(without(before, closed, 'core dgx-1'))).toEqual(['core dgx-1']);
  });

  test.each([
    ['no other is free', [core], 'dgx-1'],
    ['its spec names it', [onGpu('core', 'Generalist', '30Gi', 'dgx-1/gpu0')], 'dgx-1'],
  ])('waits where %s, and is there again when the node opens', (why, experts) => {
    const crowd = gpuPool('crowd', [onGpu('a', 'Generalist', '30Gi', 'dgx-2/gpu0'), onGpu('b', 'Specialist', '30Gi', 'dgx-2/gpu1')]);
    const before = rest(experts, { pools: [gpuPool('a', experts), ...(why === 'no other is free' ? [crowd] : [])] });
    const home = planOf(before)?.assignments;
    expect(nodesOf(before)).toEqual(['core dgx-1']);
    const waits = without(before, [cordoned('dgx-1')], 'core dgx-1');
    expect(planOf(waits)?.assignments).toEqual(home);
    expect(feasible(waits)).toMatchObject({ status: 'False', reason: 'NodeCordoned' });
    expect(feasible(waits)?.message).toContain('dgx-1/gpu0: node dgx-1 takes no pods (it is cordoned): kubectl uncordon dgx-1');
    const short = expect.objectContaining({ item: 'core', slot: 'dgx-2/gpu1', reason: 'NotEnoughMemory' }) as object;
    if (why === 'no other is free') expect(planOf(waits)?.rejected).toContainEqual(short);
    expect(waits.claims).toEqual(before.claims);
    const back = without(waits, [], 'core dgx-1');
    expect(planOf(back)).toEqual(planOf(before));
    expect(feasible(back)).toMatchObject({ status: 'True', reason: 'Placed' });
  });

  test.each([
    ['ReadWriteOnce', 'hf://o/m@v1', 'dgx-1'],
    ['ReadWriteMany', 'hf://o/m@v1', 'dgx-2'],
    ['ReadWriteOnce', 'oci://registry.example.com/m', 'dgx-2'],
  ])('with a cache of %s and weights %s is on %s then', (accessMode, uri, node) => {
    const before = rest([{ ...core, artifact: { uri } }], {}, { modelCache: { size: '1Gi', accessMode } });
    const after = without(before, [cordoned('dgx-1')], 'core dgx-1');
    expect(nodesOf(after)).toEqual([`core ${node}`]);
    expect(feasible(after)?.reason).toBe(node === 'dgx-1' ? 'NodeCordoned' : 'Placed');
    expect(feasible(without(after, [], 'core dgx-1'))?.reason).toBe('Placed');
  });

  test('that waits keeps no newcomer from a free place', () => {
    const before = rest([onGpu('core', 'Generalist', '30Gi', 'dgx-1/gpu0')]);
    const grown = gpuPool('p', [onGpu('core', 'Generalist', '30Gi', 'dgx-1/gpu0'), onGpu('late', 'Specialist', '2Gi')]);
    const { status = {} } = before.pools[0] ?? {};
    const after = without({ ...before, pools: [{ ...grown, status }] }, [cordoned('dgx-1')], 'core dgx-1');
    expect(nodesOf(after)).toEqual(['core dgx-1', 'late dgx-2']);
    expect(feasible(after)).toMatchObject({ status: 'False', reason: 'NodeCordoned' });
    // Nothing starts by halves.
    const both = gpuPool('p', [...grown.spec.experts, onGpu('big', 'Specialist', '60Gi')]);
    expect(nodesOf(without({ ...before, pools: [{ ...both, status }] }, [cordoned('dgx-1')], 'core dgx-1'))).toEqual(['core dgx-1']);
  });

  test('takes the place of a less important one of its pool, which comes to the old place when the node opens', () => {
    const before = rest([core, ...fill('e1', 'e2', 'e3')]);
    const home = nodesOf(before).find((place) => place.startsWith('core')) ?? '';
    const node = home.slice('core '.length);
    const after = without(before, [cordoned(node)], home);
    expect(nodesOf(after)).not.toContain(home);
    expect(nodesOf(after)).toHaveLength(3);
    const opened = without(after, []);
    expect(nodesOf(opened)).toHaveLength(4);
    expect(nodesOf(opened)).toEqual(expect.arrayContaining([...nodesOf(after)]));
  });

  test('takes no place of one as important, though it is smaller', () => {
    const pinned = (name: string, gi: number, gpu: number, node = 'dgx-2') => onGpu(name, 'Specialist', `${gi}Gi`, `${node}/gpu${gpu}`);
    const before = rest([onGpu('small', 'Specialist', '20Gi'), pinned('a', 30, 0), pinned('b', 30, 1)]);
    expect(nodesOf(before)).toContain('small dgx-1');
    const after = without(before, [cordoned('dgx-1')], 'small dgx-1');
    expect(planOf(after)?.assignments).toEqual(planOf(before)?.assignments);
    expect(feasible(after)).toMatchObject({ status: 'False', reason: 'NodeCordoned' });
  });

  test('goes with all of its GPUs, or waits with all of them', () => {
    const links = [pair('dgx-1', 0, 1), pair('dgx-2', 0, 1)];
    const cluster = box([], { slices: gpus, nodes: nodes(), book: { ...emptyBook, links } });
    const before = rest([], { pools: [readPool('p', [wide('core', '20Gi')])], cluster });
    expect(nodesOf(before)).toEqual(['core dgx-1', 'core dgx-1']);
    const moved = without(before, [cordoned('dgx-1')], 'core dgx-1');
    expect(nodesOf(moved)).toEqual(['core dgx-2', 'core dgx-2']);
    const crowd = gpuPool('q', [onGpu('gen', 'Generalist', '30Gi', 'dgx-2/gpu1')]);
    const full = settle({ ...before, pools: [...before.pools, crowd] }, now);
    const waits = without(full, [cordoned('dgx-1')], 'core dgx-1');
    expect(planOf(waits)?.assignments).toEqual(planOf(before)?.assignments);
    expect(feasible(waits)).toMatchObject({ status: 'False', reason: 'NodeCordoned' });
  });

  test('keeps a draft that runs there, which NVLink has to join to it', () => {
    const pair = [core, onGpu('weigh', 'Draft', '2Gi')];
    const before = rest(pair, {}, { placement: { nvlink: 'Required' } });
    expect(nodesOf(before)).toEqual(['core dgx-1', 'weigh dgx-1']);
    expect(nodesOf(without(before, [cordoned('dgx-1')], 'weigh dgx-1'))).toEqual(nodesOf(before));
    const both = without(before, [cordoned('dgx-1')], 'weigh dgx-1', 'core dgx-1');
    expect(nodesOf(both)).toEqual(['core dgx-2', 'weigh dgx-2']);
  });

  test('whose bytes are free in its old place: nobody starts there before its Deployment is off it', () => {
    const before = rest([core]);
    const moved = without(before, [cordoned('dgx-1')], 'core dgx-1');
    const late = gpuPool('q', [onGpu('gen', 'Generalist', '30Gi', 'dgx-1/gpu0')]);
    const occupants = [{ owner: 'ExpertPool platform/p', item: 'core', slot: 'dgx-1/gpu0' }];
    const opened = without({ ...moved, pools: [...moved.pools, late], occupants }, []);
    expect(opened.pools[1]?.status?.plan?.assignments).toMatchObject([{ slot: 'dgx-1/gpu0', admitted: false }]);
    expect(without({ ...opened, occupants: [] }, []).pools[1]?.status?.plan?.assignments).toMatchObject([{ admitted: true }]);
  });
});

describe('experts and the verifier that antiAffinity keeps apart', () => {
  test.each([['gen'], ['judge']])('stay apart when %s loses its GPU', (item) => {
    const antiAffinity = [{ expert: 'gen', from: ['EnergyModel'] }];
    const pool = gpuPool('p', [onGpu('gen', 'Generalist', '20Gi')], { placement: { antiAffinity }, energyModelRef: { name: 'judge' } });
    const before = atRest(2, { pools: [pool], models: [verifier()] });
    expect(gpuOf(before, 'gen')).not.toBe(gpuOf(before, 'judge'));
    const world = settle(withSick(before, 2, [gpuOf(before, item) ?? 0]), now);
    expect([gpuOf(world, 'gen'), gpuOf(world, 'judge')]).toEqual([gpuOf(before, 'gen'), gpuOf(before, 'judge')]);
    const reported = item === 'gen' ? world.pools[0]?.status : world.models[0]?.status;
    expect(findCondition(reported?.conditions, 'PlacementFeasible')).toMatchObject({ status: 'False', reason: 'SlotTainted' });
  });
});
