import type { ClusterView } from './model/index.ts';
import { findCondition } from '@agentfleet/kube';
import { slotName, type Condition } from '@agentfleet/protocol/api';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { board, divided, mig, type Slice } from '../../placement/testing/slices.ts';
import { bindSlots, gpusOf, type Device } from '../../placement/index.ts';
import { decidePlacement, type PlacementSnapshot } from './decide.ts';
import type { Node } from '../../runtime/resources.ts';
import { slimNode } from '../../runtime/transforms.ts';
import { box, gpuPool, onGpu, slice, snapshot } from './testing/box.ts';
import { now, places, settle, conditionValue } from './testing/world.ts';

const gib = 2 ** 30;
const classes = ['gpu.nvidia.com', 'mig.nvidia.com'].map((name) => ({ metadata: { name } }));
const three: readonly Slice[] = [
  { profile: '3g.20gb', at: 4, gi: 2 },
  { profile: '2g.10gb', at: 0, gi: 3 },
  { profile: '2g.10gb', at: 2, gi: 5 },
];
const cut = [board(0), board(1), board(2), ...divided(3, three)];
const view = (devices: readonly Device[] = cut, more: Partial<ClusterView> = {}): ClusterView =>
  box(devices, { deviceClasses: classes, ...more });
/** The same world after the driver has published something else. */
const republished = (world: PlacementSnapshot, devices: readonly Device[]): PlacementSnapshot => ({
  ...world,
  cluster: { ...world.cluster, slices: [slice(devices)] },
});
const said = ({ pools }: PlacementSnapshot, name = 'p'): Condition | undefined =>
  findCondition(pools.find(({ metadata }) => metadata.name === name)?.status?.conditions, 'PlacementFeasible');

describe('a board of four in MIG', () => {
  const pool = gpuPool('p', [
    onGpu('gen', 'Generalist', '15Gi', 'dgx-1/gpu3-3g.20gb-0'),
    onGpu('js', 'Specialist', '4Gi', 'dgx-1/gpu3-2g.10gb-1'),
    onGpu('py', 'Specialist', '4Gi', 'dgx-1/gpu3-2g.10gb-1'),
  ]);
  const rest = settle(snapshot({ pools: [pool], cluster: view() }));

  test('has a claim of the class of MIG for each slice, which pins its uuid and its size', () => {
    expect(places(rest.pools[0]?.status?.plan)).toEqual(['gen dgx-1/gpu3-3g.20gb-0', 'js dgx-1/gpu3-2g.10gb-1', 'py dgx-1/gpu3-2g.10gb-1']);
    expect(rest.pools[0]?.status?.plan).toMatchObject({ mode: 'DRA', assignments: [{ uuid: 'MIG-3-2' }, { uuid: 'MIG-3-5' }, {}] });
    const claim = rest.claims.find(({ metadata }) => metadata.annotations?.['agentfleet.dev/slot'] === 'dgx-1/gpu3-2g.10gb-1');
    expect(claim?.metadata.name).toMatch(/^slot-dgx-1-gpu3-2g\.10gb-1-[0-9a-f]{10}$/);
    const attributes = "device.attributes['gpu.nvidia.com']";
    expect(claim).toMatchObject({
      metadata: { labels: { 'agentfleet.dev/slot': 'slot-dgx-1-gpu3-2g.10gb-1' }, annotations: { 'agentfleet.dev/gpu-uuid': 'MIG-3-5' } },
      spec: {
        devices: {
          requests: [
            {
              exactly: {
                deviceClassName: 'mig.nvidia.com',
                selectors: [
                  {
                    cel: {
                      expression:
                        `'uuid' in ${attributes} && ${attributes}.uuid == 'MIG-3-5' && ` +
                        `'profile' in ${attributes} && ${attributes}.profile == '2g.10gb'`,
                    },
                  },
                ],
              },
            },
          ],
        },
      },
    });
    expect(decidePlacement(snapshot({ cluster: view() }), now).bindings).toContain('dgx-1/gpu3-2g.10gb-1 MIG-3-5 0000:03:00.0@2\n');
  });

  test('another class is named when the administrator sets it, and without it the mode lacks it', () => {
    const driver = { driver: 'gpu.nvidia.com', deviceClass: 'gpu.nvidia.com', migDeviceClass: 'slices' };
    const lacking = settle(snapshot({ pools: [pool], cluster: view(cut, { driver }) }));
    expect(said(lacking)).toMatchObject({ status: 'False', reason: 'NoMode' });
    expect(said(lacking)?.message).toMatch(/not DRA: .*DeviceClass/);
    const own = settle(snapshot({ pools: [pool], cluster: view(cut, { driver, deviceClasses: [{ metadata: { name: 'slices' } }] }) }));
    expect(JSON.stringify(own.claims[0])).toContain('"deviceClassName":"slices"');
  });

  test('the class of boards is not asked for while its pool is published in part, or a slice is gone', () => {
    const own = settle(snapshot({ pools: [pool], cluster: view(cut, { deviceClasses: classes.slice(1) }), present: () => true }));
    expect(said(own)).toMatchObject({ status: 'True', reason: 'Placed' });
    const { spec, ...more } = slice(cut);
    const part = { ...more, spec: { ...spec, devices: [], pool: { ...spec.pool, generation: 2, resourceSliceCount: 2 } } };
    const between = settle({ ...own, cluster: { ...own.cluster, slices: [part] } });
    expect(between.cluster.book.problems).toContain('1 of its 2 ResourceSlices');
    expect(said(between)).toEqual(said(own));
    expect(between.pools).toEqual(own.pools);
    expect(said(settle(republished(own, [board(0)])))).toMatchObject({ reason: 'SlotGone' });
  });

  test('a slice has the memory that it has, and tenants beyond it are refused with the shortage', () => {
    // 19968 MiB of the driver's own word: nothing is kept for it a second time.
    const all = (budget: string): Condition | undefined =>
      said(settle(snapshot({ pools: [gpuPool('p', [onGpu('gen', 'Generalist', budget, 'dgx-1/gpu3-3g.20gb-0')])], cluster: view() })));
    expect(all('19368Mi')).toMatchObject({ status: 'True' });
    expect(all('19369Mi')).toMatchObject({ status: 'False', reason: 'NotEnoughMemory' });
    const fifth = gpuPool('fifth', [onGpu('gen', 'Generalist', '2Gi', 'dgx-1/gpu3-2g.10gb-1')]);
    const after = settle({ ...rest, pools: [...rest.pools, fifth] });
    expect(after.pools[1]?.status?.plan?.rejected?.[0]).toMatchObject({
      slot: 'dgx-1/gpu3-2g.10gb-1',
      reason: 'NotEnoughMemory',
      shortByBytes: 10 * gib - Math.floor(9984 * 2 ** 20 * 0.92),
    });
  });

  test('the board itself is no place, and names the slices that are', () => {
    const whole = settle(snapshot({ pools: [gpuPool('p', [onGpu('gen', 'Generalist', '5Gi', 'dgx-1/gpu3')])], cluster: view() }));
    expect(said(whole)).toMatchObject({ status: 'False', reason: 'SlotPartitioned' });
    expect(said(whole)?.message).toMatch(/name one of them \(dgx-1\/gpu3-2g.10gb-0, .*\), or undo the division/);
    expect(whole.pools[0]?.status?.plan?.assignments).toEqual([]);
  });

  test('that is divided under its tenants keeps them where they are reported, and lets others go elsewhere', () => {
    const boards = [0, 1, 2, 3].map((index) => board(index));
    const on = gpuPool('p', [onGpu('gen', 'Generalist', '5Gi', 'dgx-1/gpu3')]);
    const before = settle(snapshot({ pools: [on], cluster: view(boards) }));
    const after = settle(republished(before, cut));
    expect(places(after.pools[0]?.status?.plan)).toEqual(['gen dgx-1/gpu3']);
    expect(said(after)).toMatchObject({ status: 'False', reason: 'SlotPartitioned' });
    expect(said(after)?.message).toContain('dgx-1/gpu3: it is divided into MIG slices');
    // And back.
    expect(said(settle(republished(after, boards)))).toMatchObject({ status: 'True' });
    const free = settle(snapshot({ pools: [gpuPool('p', [onGpu('gen', 'Generalist', '5Gi')])], cluster: view([board(3)]) }));
    const moved = settle(republished(free, [board(1), ...divided(3, three)]));
    expect(places(moved.pools[0]?.status?.plan)).not.toEqual(places(free.pools[0]?.status?.plan));
    expect(said(moved)).toMatchObject({ status: 'True' });
  });

  test('that is made whole, or divided anew, loses its slices: they are reported, and none is renamed', () => {
    const whole = settle(
      republished(
        rest,
        [0, 1, 2, 3].map((index) => board(index)),
      ),
    );
    expect(said(whole)).toMatchObject({ status: 'False', reason: 'SlotGone' });
    expect(said(whole)?.message).toContain('no MIG slice 3g.20gb of dgx-1/gpu3 has its uuid MIG-3-2: was the board divided anew?');
    expect(places(whole.pools[0]?.status?.plan)).toEqual(places(rest.pools[0]?.status?.plan));
    const anew = three.map((one) => ({ ...one, gi: one.gi + 10 }));
    const waiting = settle(republished(rest, [board(0), ...divided(3, anew)]));
    expect(said(waiting)).toMatchObject({ status: 'False', reason: 'SlotRebound' });
    expect(said(waiting)?.message).toContain('agentfleet.dev/approve-slot=dgx-1/gpu3-3g.20gb-0=<uuid>');
    expect(waiting.cluster.book.problems).toContain('MIG slice MIG-3-12 (3g.20gb) of board GPU-3 is no slot before');
    const approved = new Map(three.map(({ profile, gi, at }) => [`dgx-1/gpu3-${profile}-${at === 2 ? 1 : 0}`, `MIG-3-${gi + 10}`]));
    const after = settle({ ...waiting, cluster: { ...waiting.cluster, book: { ...waiting.cluster.book, approved } } });
    expect(after.pools[0]?.status?.plan?.assignments.map(({ uuid }) => uuid)).toEqual(['MIG-3-12', 'MIG-3-15', 'MIG-3-15']);
    expect(after.cluster.book.problems).toBe('');
    expect(after.claims.map(({ metadata }) => metadata.name)).not.toContain(rest.claims[0]?.metadata.name);
  });

  test('a draft is on the slice of its target or not at all, whatever links are declared', () => {
    const pair = (a: string, b: string): Condition | undefined => {
      const experts = [onGpu('gen', 'Generalist', '5Gi', `dgx-1/${a}`), onGpu('draft', 'Draft', '1Gi', `dgx-1/${b}`)];
      return said(settle(snapshot({ pools: [gpuPool('p', experts, { placement: { nvlink: 'Preferred' } })], cluster: view() })));
    };
    expect(pair('gpu3-3g.20gb-0', 'gpu3-2g.10gb-0')).toMatchObject({ status: 'False', reason: 'NotLinked' });
    expect(pair('gpu0', 'gpu3-2g.10gb-0')).toMatchObject({ status: 'False', reason: 'NotLinked' });
    expect(pair('gpu3-3g.20gb-0', 'gpu3-3g.20gb-0')).toMatchObject({ status: 'True' });
    expect(pair('gpu0', 'gpu1')).toMatchObject({ status: 'True' });
  });
});

test('every name that a slice gets is one that the API takes, and no other', () => {
  const { pattern = '', maxLength = 0 } = slotName('') as { readonly pattern?: string; readonly maxLength?: number };
  const taken = new RegExp(pattern);
  const sizes = ['1g.5gb', '1g.5gb+me', '1c.3g.20gb', '7g.80gb', '10g.1000gb', '1g.24gb+me.all', '1g.24gb-me'];
  const names = bindSlots(
    gpusOf(
      [
        slice(
          divided(
            3,
            sizes.map((profile, gi) => ({ profile, gi, at: gi })),
          ),
        ),
      ],
      'gpu.nvidia.com',
    ).gpus,
    [],
  );
  expect(names).toHaveLength(1 + sizes.length);
  for (const { slot } of names) expect(slot).toMatch(taken);
  for (const bad of ['dgx-1/gpu3-2g.10gb', 'dgx-1/gpu3-2g.10gb-100', 'dgx-1/gpu3-', 'dgx-1/gpu3-2g.10gb+me-0', 'dgx-1/gpu3-a-0'])
    expect(bad).not.toMatch(taken);
  const longest = `${'n'.repeat(253)}/gpu999-9c.99g.9999gb-${'m'.repeat(16)}-99`;
  expect(longest).toMatch(taken);
  expect(longest.length).toBeLessThanOrEqual(maxLength);
});

describe('what a driver could make of a board', () => {
  test('is no slot: the board is used whole, and the ConfigMap has the reason', () => {
    const profiles = three.map((one) => mig(3, one, 'GPU-3', false));
    const decision = decidePlacement(snapshot({ cluster: view([board(3), ...profiles]) }), now);
    expect(decision.bindings).toBe('dgx-1/gpu0 GPU-3 0000:03:00.0\n');
    expect(decision.problems).toMatch(/^dgx-1: 3 MIG slices of board GPU-3 are made when they are claimed, overlap and have no uuid/);
  });
});

describe('MIG slices of a device plugin', () => {
  /** As the cache keeps it. */
  const node = (resources: Readonly<Record<string, string>>): Node =>
    slimNode({
      metadata: { name: 'dgx-1', labels: { 'nvidia.com/gpu.memory': '40960' } },
      status: { allocatable: { cpu: '128', ...resources } },
    });
  const plugin = (resources: Readonly<Record<string, string>>): ClusterView => ({
    ...view([], { slices: [] }),
    deviceClasses: [],
    nodes: [node(resources)],
  });

  test.each([
    ['a slice of the node', { 'nvidia.com/gpu': '2', 'nvidia.com/mig-2g.10gb': '3' }, 'dgx-1/gpu3-2g.10gb-0'],
    ['nothing but slices', { 'nvidia.com/mig-2g.10gb': '3' }, undefined],
  ])('are no slots, and each mode that was skipped is listed: %s', (_, resources, slot) => {
    const world = snapshot({ pools: [gpuPool('p', [onGpu('gen', 'Generalist', '5Gi', slot)])], cluster: plugin(resources) });
    const decision = decidePlacement(world, now);
    expect(conditionValue(decision, 'p')).toMatchObject({ status: 'False', reason: 'NoMode' });
    expect(conditionValue(decision, 'p')?.message).toMatch(
      /^node dgx-1: the device plugin hands out MIG slices \(nvidia.com\/mig-2g.10gb\) and does not say which/,
    );
    expect(conditionValue(decision, 'p')?.message).toContain('install it in the place of the plugin');
  });

  test('are a second stack beside a DRA driver', () => {
    const cluster = view(cut, { nodes: [node({ 'nvidia.com/gpu': '0', 'nvidia.com/mig-2g.10gb': '3' })] });
    const decision = decidePlacement(snapshot({ pools: [gpuPool('p', [onGpu('gen', 'Generalist', '5Gi')])], cluster }), now);
    expect(conditionValue(decision, 'p', 'PlacementConflict')?.message).toContain('the device plugin offers nvidia.com/mig-2g.10gb');
  });

  test('do not keep engines off the whole GPUs beside them', () => {
    const cluster = plugin({ 'nvidia.com/gpu': '2', 'nvidia.com/mig-2g.10gb': '3' });
    const rest = settle(snapshot({ pools: [gpuPool('p', [onGpu('gen', 'Generalist', '5Gi')])], cluster }));
    expect(rest.pools[0]?.status?.plan).toMatchObject({ mode: 'WholeGPU', assignments: [{ slot: 'dgx-1/gpu0' }] });
  });
});

describe('the ledger', () => {
  const usable = (gpu: string): number => (gpu === '' ? 39.5 * gib : { '1': 4864, '2': 9984, '3': 19_968 }[gpu[0] ?? '']! * 2 ** 20);
  const layouts: readonly (readonly Slice[])[] = [[], three, [{ profile: '1g.5gb', at: 0, gi: 7 }], [...three].slice(1)];

  test('gives nothing away twice, whatever pools come and however boards are divided under them', () => {
    const engine = fc.record({
      gi: fc.integer({ min: 1, max: 22 }),
      slot: fc.constantFrom(undefined, undefined, 'gpu1', 'gpu3', 'gpu3-2g.10gb-0'),
    });
    const step = fc.record({ engines: fc.array(engine, { maxLength: 3 }), layout: fc.nat(layouts.length - 1) });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 4 }), (steps) => {
        let world = snapshot({ cluster: view() });
        for (const [index, { engines, layout }] of steps.entries()) {
          const slices = layouts[layout] ?? [];
          const devices = [board(0), board(1), ...(slices.length === 0 ? [board(3)] : divided(3, slices))];
          const experts = engines.map(({ gi, slot }, one) =>
            onGpu(`e${one}`, 'Specialist', `${gi}Gi`, slot === undefined ? slot : `dgx-1/${slot}`),
          );
          const pools = experts.length === 0 ? world.pools : [...world.pools, gpuPool(`p${index}`, experts)];
          const before = new Map(world.pools.map(({ metadata, status }) => [metadata.name, status?.plan?.assignments ?? []]));
          world = settle(republished({ ...world, pools }, devices));
          check(world, devices, before);
        }
      }),
      { numRuns: process.env['AGENTFLEET_FULL'] === '1' ? 500 : 25 },
    );
  });

  type Assignments = NonNullable<NonNullable<PlacementSnapshot['pools'][number]['status']>['plan']>['assignments'];

  function check({ pools, claims }: PlacementSnapshot, devices: readonly Device[], before: ReadonlyMap<string, Assignments>): void {
    const there = new Set(devices.map(({ attributes }) => attributes?.['uuid']?.string));
    const taken = new Map<string, number>();
    for (const { metadata, status } of pools)
      for (const place of status?.plan?.assignments ?? []) {
        taken.set(place.slot, (taken.get(place.slot) ?? 0) + place.bytes);
        const stayed = (before.get(metadata.name) ?? []).some(
          ({ item, slot, uuid }) => item === place.item && slot === place.slot && uuid === place.uuid,
        );
        // Nobody comes to what is not there; who was there waits for it, under the same name.
        if (!stayed) expect(there.has(place.uuid)).toBe(true);
      }
    for (const [slot, bytes] of taken) expect(bytes).toBeLessThanOrEqual(usable(/-([0-9]g)/.exec(slot)?.[1] ?? ''));
    const pinned = claims.map(({ metadata }) => `${metadata.namespace} ${metadata.annotations?.['agentfleet.dev/gpu-uuid']}`);
    expect(new Set(pinned).size).toBe(pinned.length);
  }
});
