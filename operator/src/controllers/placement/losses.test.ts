import type { PlanStatus } from '@agentfleet/protocol/api';
import { findCondition } from '@agentfleet/kube';
import { describe, expect, test } from 'vitest';
import type { Node, PublishedSlice } from '../../runtime/resources.ts';
import { slimNode } from '../../runtime/transforms.ts';
import type { PlacementSnapshot } from './decide.ts';
import { box, device, gpuPool, onGpu, slice, snapshot } from './testing/box.ts';
import { atRest, gpuOf, verifier, withSick } from './testing/losses.ts';
import { pluginNode } from './testing/plugin.ts';
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
    ['names its slot', 'dgx-1/gpu0'],
    ['names none', undefined],
  ])('is the reason for an engine that %s', (_, slot) => {
    const nodes = [slimNode({ metadata: { name: 'dgx-1' }, spec: { unschedulable: true } })];
    const pool = gpuPool('p', [onGpu('core', 'Generalist', '30Gi', slot)]);
    const reported = feasible(settle(snapshot({ pools: [pool], cluster: box([device(0)], { nodes }) }), now));
    expect(reported).toMatchObject({ status: 'False', reason: 'NodeUnschedulable' });
    expect(reported?.message).toContain('node dgx-1 takes no pods (it is cordoned)');
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
    expect(feasible(settle(world, now))).toMatchObject({ status: 'False', reason: 'NodeUnschedulable' });
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
