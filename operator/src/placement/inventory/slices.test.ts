import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { board, divided, driver, mig, pool, type Slice } from '../testing/slices.ts';
import {
  bindSlots,
  conflictsOf,
  gpusOf,
  parseSlotName,
  pluginSlices,
  profileName,
  type Device,
  type InventorySlot,
  type SlotBinding,
} from './index.ts';

const gib = 2 ** 30;
/** The board of four that is divided as A100 often are. */
const three: readonly Slice[] = [
  { profile: '3g.20gb', at: 4, gi: 2 },
  { profile: '2g.10gb', at: 0, gi: 3 },
  { profile: '2g.10gb', at: 2, gi: 5 },
];
const boards = [0, 1, 2].map((index) => board(index));
const gpusIn = (...devices: readonly (Device | readonly Device[])[]): ReturnType<typeof gpusOf> => gpusOf([pool(devices.flat())], driver);
const bindings = (slots: readonly InventorySlot[]): readonly SlotBinding[] =>
  slots.map(({ slot, uuid, pciBusID }) => ({ slot, uuid, pciBusID }));
const states = (slots: readonly InventorySlot[]): readonly string[] => slots.map(({ slot, state }) => `${slot} ${state}`);

describe('MIG slices that exist', () => {
  const first = bindSlots(gpusIn(boards, divided(3, three)).gpus, []);

  test('are slots of their own under their board, which is none', () => {
    expect(states(first)).toEqual([
      'dgx-1/gpu0 Ready',
      'dgx-1/gpu1 Ready',
      'dgx-1/gpu2 Ready',
      'dgx-1/gpu3 Partitioned',
      'dgx-1/gpu3-2g.10gb-0 Ready',
      'dgx-1/gpu3-2g.10gb-1 Ready',
      'dgx-1/gpu3-3g.20gb-0 Ready',
    ]);
    expect(first[3]).toMatchObject({ uuid: 'GPU-3', pciBusID: '0000:03:00.0', gpu: undefined });
    expect(first[3]?.message).toBe(
      'it is divided into MIG slices: name one of them (dgx-1/gpu3-2g.10gb-0, dgx-1/gpu3-2g.10gb-1, dgx-1/gpu3-3g.20gb-0), or undo the division',
    );
    expect(first[4]?.gpu).toMatchObject({ memoryBytes: 9.75 * gib, mig: { profile: '2g.10gb', parentUUID: 'GPU-3' } });
    // The place of each is the board's bus and where its memory begins.
    expect(first.slice(4).map(({ pciBusID }) => pciBusID)).toEqual(['0000:03:00.0@0', '0000:03:00.0@2', '0000:03:00.0@4']);
  });

  test('win over a whole board that is published beside them', () => {
    const { gpus } = gpusIn([board(3)], divided(3, three));
    const slots = bindSlots(gpus, []);
    expect(slots.filter(({ state }) => state === 'Ready').map(({ gpu }) => gpu?.mig?.profile)).toEqual(['2g.10gb', '2g.10gb', '3g.20gb']);
  });

  test.each([
    ['dgx-0', ['dgx-0/gpu0 Partitioned', 'dgx-0/gpu0-2g.10gb-0 Ready', 'dgx-0/gpu0-2g.10gb-1 Ready', 'dgx-0/gpu0-3g.20gb-0 Ready']],
    ['dgx-2', ['dgx-2/gpu0 Partitioned', 'dgx-2/gpu0-2g.10gb-0 Ready', 'dgx-2/gpu0-2g.10gb-1 Ready', 'dgx-2/gpu0-3g.20gb-0 Ready']],
  ])('are slots of the node that their board is in now: %s', (node, there) => {
    const { gpus } = gpusIn(boards, divided(3, three));
    const moved = gpus.map((gpu) => (gpu.mig === undefined ? gpu : { ...gpu, node }));
    const slots = bindSlots(moved, bindings(first));
    expect(states(slots.filter((slot) => slot.node === node))).toEqual(there);
    expect(new Set(slots.filter(({ slot }) => slot.startsWith('dgx-1/gpu3')).map(({ state }) => state))).toEqual(new Set(['Gone']));
    expect(states(bindSlots(moved, bindings(slots)))).toEqual(states(slots));
  });

  test('keep their names while their board is whole for a time, and get them back', () => {
    const whole = bindSlots(gpusIn(boards, [board(3)]).gpus, bindings(first));
    expect(states(whole).slice(3)).toEqual([
      'dgx-1/gpu3 Ready',
      'dgx-1/gpu3-2g.10gb-0 Gone',
      'dgx-1/gpu3-2g.10gb-1 Gone',
      'dgx-1/gpu3-3g.20gb-0 Gone',
    ]);
    expect(whole[4]?.message).toBe('no MIG slice 2g.10gb of dgx-1/gpu3 has its uuid MIG-3-3: was the board divided anew?');
    expect(bindSlots(gpusIn(boards, divided(3, three)).gpus, bindings(whole))).toEqual(first);
  });

  test('of a board that is divided anew are other slots, and a uuid that comes back with another size has another name', () => {
    const anew: readonly Slice[] = [
      { profile: '3g.20gb', at: 0, gi: 3 },
      { profile: '1g.5gb+me', at: 4, gi: 7 },
    ];
    const slots = bindSlots(gpusIn(boards, divided(3, anew)).gpus, bindings(first));
    expect(states(slots).slice(3)).toEqual([
      'dgx-1/gpu3 Partitioned',
      'dgx-1/gpu3-1g.5gb-me-0 Ready',
      'dgx-1/gpu3-2g.10gb-0 Gone',
      'dgx-1/gpu3-2g.10gb-1 Gone',
      'dgx-1/gpu3-3g.20gb-0 Gone',
      'dgx-1/gpu3-3g.20gb-1 Ready',
    ]);
    expect(slots.at(-1)?.uuid).toBe('MIG-3-3');
  });

  test('one in the place of another of its size needs a human', () => {
    const moved = three.map((slice) => (slice.gi === 3 ? { ...slice, gi: 9 } : slice));
    const gpus = gpusIn(boards, divided(3, moved)).gpus;
    const slots = bindSlots(gpus, bindings(first));
    expect(slots[4]).toMatchObject({ slot: 'dgx-1/gpu3-2g.10gb-0', state: 'Rebound', uuid: 'MIG-3-3', candidate: { uuid: 'MIG-3-9' } });
    expect(slots[4]?.message).toBe('MIG-3-9 is in the place of MIG-3-3: approve the new MIG slice, or put the old one back');
    expect(slots).toHaveLength(first.length);
    const approved = bindSlots(gpus, bindings(first), new Map([['dgx-1/gpu3-2g.10gb-0', 'MIG-3-9']]));
    expect(approved[4]).toMatchObject({ state: 'Ready', uuid: 'MIG-3-9' });
    // Not one of another size, and not a board.
    for (const uuid of ['MIG-3-2', 'GPU-3'])
      expect(bindSlots(gpus, bindings(first), new Map([['dgx-1/gpu3-2g.10gb-0', uuid]]))[4]?.state).toBe('Rebound');
  });

  test('of a board that waits for a human wait with it', () => {
    const { gpus } = gpusIn(boards, divided(3, [...three, { profile: '1g.5gb', at: 7, gi: 9 }], 'GPU-new'));
    const slots = bindSlots(gpus, bindings(first));
    expect(
      states(slots)
        .slice(3)
        .map((text) => text.split(' ')[1]),
    ).toEqual(['Rebound', 'Rebound', 'Rebound', 'Rebound']);
    const approved = bindSlots(gpus, bindings(first), new Map([['dgx-1/gpu3', 'GPU-new']]));
    expect(states(approved).slice(3)).toEqual([
      'dgx-1/gpu3 Partitioned',
      'dgx-1/gpu3-1g.5gb-0 Ready',
      'dgx-1/gpu3-2g.10gb-0 Rebound',
      'dgx-1/gpu3-2g.10gb-1 Rebound',
      'dgx-1/gpu3-3g.20gb-0 Rebound',
    ]);
  });

  test('have the name of their board where the book lost it', () => {
    // gpu0 is gone for good, and what was gpu3 must not become gpu2.
    const known = bindings(first).filter(({ slot }) => slot === 'dgx-1/gpu3-2g.10gb-1');
    const slots = bindSlots(gpusIn([board(1), board(2)], divided(3, three)).gpus, known);
    expect(slots.filter(({ uuid }) => uuid === 'GPU-3').map(({ slot }) => slot)).toEqual(['dgx-1/gpu3']);
    expect(slots.find(({ uuid }) => uuid === 'MIG-3-5')?.slot).toBe('dgx-1/gpu3-2g.10gb-1');
  });
});

describe('what cannot be pinned', () => {
  test('a slice without board, of unknown size, or with the uuid of another device is reported', () => {
    const [slice] = divided(3, three);
    const { attributes } = slice!;
    const { parentUUID: _, ...orphan } = attributes!;
    const { gpus, problems } = gpusIn(
      { ...slice!, name: 'a', attributes: orphan },
      { ...slice!, name: 'b', attributes: { ...attributes, profile: { string: "2g' || true" } } },
      board(1),
      { ...board(1), name: 'gpu-1-part' },
    );
    expect(gpus).toEqual([]);
    expect(problems.map(({ message }) => message)).toEqual([
      'device a is a MIG slice and publishes no parentUUID: nobody knows its board',
      'device b is a MIG slice of the unknown profile "2g\' || true"',
      '2 devices publish the uuid GPU-1: none of them can be pinned',
    ]);
  });

  test('slices that are made when they are claimed are reported once for their board, which is used whole', () => {
    const profiles = Array.from({ length: 40 }, (_, index) => mig(3, { profile: '1g.5gb', at: index % 7, gi: index }, 'GPU-3', false));
    const { gpus, problems } = gpusIn([board(3)], profiles);
    expect(gpus.map(({ uuid }) => uuid)).toEqual(['GPU-3']);
    expect(problems).toHaveLength(1);
    expect(problems[0]?.message).toMatch(
      /^40 MIG slices of board GPU-3 are made when they are claimed.*turn off DynamicMIG, or use it whole$/,
    );
  });
});

describe('devices that take from the same counters', () => {
  const counters = (slices: number, compute = slices): Record<string, { value: string }> => ({
    memory: { value: `${5 * slices}Gi` },
    multiprocessors: { value: String(14 * compute) },
  });
  const sets = [{ name: 'gpu-3-counter-set', counters: counters(8, 7) }];
  const takes = (slices: number, compute?: number) => [{ counterSet: 'gpu-3-counter-set', counters: counters(slices, compute) }];
  const inPool = (...devices: readonly Device[]) => gpusOf([pool(devices, sets)], driver);

  test('are all slots when the board has enough for all of them', () => {
    const [a, b, c] = divided(3, three);
    const result = inPool(
      { ...a!, consumesCounters: takes(4, 3) },
      { ...b!, consumesCounters: takes(2) },
      { ...c!, consumesCounters: takes(2) },
    );
    expect(result.gpus).toHaveLength(3);
    expect(result.problems).toEqual([]);
  });

  test('are not counted as memory of their own when they overlap: the biggest that exist are used, the others reported', () => {
    const [a, b, c] = divided(3, three);
    const whole = { ...board(3), consumesCounters: takes(8, 7) };
    const result = inPool(
      whole,
      { ...b!, consumesCounters: takes(2) },
      { ...a!, consumesCounters: takes(4, 3) },
      { ...c!, consumesCounters: takes(4, 2) },
    );
    expect(result.gpus.map(({ device }) => device)).toEqual([b!.name, a!.name]);
    expect(result.problems.map(({ message }) => message)).toEqual([
      `device ${c!.name} overlaps with ${b!.name}, which is a slot (memory of the counters gpu-3-counter-set): only one of them can be allocated`,
      `device gpu-3 overlaps with ${b!.name}, which is a slot (memory of the counters gpu-3-counter-set): only one of them can be allocated`,
    ]);
  });

  test('a whole board comes before its parts where these are no MIG slices', () => {
    const part = { ...board(3, 'PART'), name: 'gpu-3-a', capacity: { memory: { value: '20Gi' } }, consumesCounters: takes(4, 3) };
    const result = inPool(part, { ...board(3), consumesCounters: takes(8, 7) });
    expect(result.gpus.map(({ device }) => device)).toEqual(['gpu-3']);
  });

  test('of which nothing is published are left out', () => {
    const [a] = divided(3, three);
    const { gpus, problems } = gpusOf([pool([{ ...a!, consumesCounters: takes(4, 3) }])], driver);
    expect(gpus).toEqual([]);
    expect(problems[0]?.message).toContain('of which nothing that is understood is published');
    const odd = [{ counterSet: 'gpu-3-counter-set', counters: { memory: { value: 'much' } } }];
    expect(inPool({ ...a!, consumesCounters: odd }).gpus).toEqual([]);
  });

  test('whatever is published: what is used fits the counters together', () => {
    const device = fc.record({
      index: fc.nat(9),
      mig: fc.boolean(),
      slices: fc.integer({ min: 1, max: 8 }),
      compute: fc.integer({ min: 1, max: 7 }),
    });
    fc.assert(
      fc.property(fc.uniqueArray(device, { selector: ({ index }) => index, maxLength: 8 }), (wanted) => {
        const devices = wanted.map(({ index, mig: isSlice, slices, compute }) => ({
          ...(isSlice ? mig(3, { profile: '1g.5gb', at: index, gi: index }, 'GPU-3') : board(3, `GPU-${index}`)),
          name: `d${index}`,
          consumesCounters: takes(slices, compute),
        }));
        const { gpus } = inPool(...devices);
        const used = wanted.filter(({ index }) => gpus.some((gpu) => gpu.device === `d${index}`));
        expect(used.reduce((sum, { slices }) => sum + slices, 0)).toBeLessThanOrEqual(8);
        expect(used.reduce((sum, { compute }) => sum + compute, 0)).toBeLessThanOrEqual(7);
        if (wanted.length > 0) expect(used.length).toBeGreaterThan(0);
      }),
    );
  });
});

describe('names', () => {
  test('of slices are read back, and profiles become what objects may be called', () => {
    expect(parseSlotName('dgx-1/gpu3-2g.10gb-0')).toEqual({
      node: 'dgx-1',
      board: 'dgx-1/gpu3',
      number: 3,
      slice: { profile: '2g.10gb', index: 0 },
    });
    expect(parseSlotName('dgx-1/gpu3-1g.5gb-me-12')?.slice).toEqual({ profile: '1g.5gb-me', index: 12 });
    for (const bad of ['dgx-1/gpu', 'dgx-1/gpu3-x-0', 'dgx-1/gpu3-2g.10gb', 'gpu3', 'dgx-1/gpu3-2g.10gb-', 'a/b/gpu1'])
      expect(parseSlotName(bad)).toBeUndefined();
    expect(['2g.10gb', '1c.3g.20gb', '1g.5gb+me', '1g.24gb+me.all', '10g.5gb'].map(profileName)).toEqual([
      '2g.10gb',
      '1c.3g.20gb',
      '1g.5gb-me',
      '1g.24gb-me.all',
      '10g.5gb',
    ]);
    for (const bad of ['', '2g', '2g.10gb/../x', "2g.10gb' || true", '2G.10GB', '0g.5gb']) expect(profileName(bad)).toBeUndefined();
  });

  test('hold through every division: what is there has one name, and no name changes its uuid or its size', () => {
    const layouts = fc.uniqueArray(fc.record({ gi: fc.nat(5), size: fc.nat(2), at: fc.nat(7) }), {
      selector: ({ gi }) => gi,
      maxLength: 4,
    });
    const profiles = ['1g.5gb', '2g.10gb', '3g.20gb'];
    fc.assert(
      fc.property(fc.array(fc.tuple(layouts, fc.boolean()), { minLength: 1, maxLength: 8 }), (history) => {
        let bound: readonly SlotBinding[] = [];
        for (const [layout, whole] of history) {
          const slices = layout.map(({ gi, size, at }) => ({ gi, at, profile: profiles[size] ?? '' }));
          const slots = bindSlots(gpusIn([board(0)], whole ? [board(3)] : divided(3, slices)).gpus, bound);
          const there = slots.filter(({ gpu }) => gpu !== undefined);
          expect(new Set(there.map(({ uuid }) => uuid)).size).toBe(there.length);
          expect(new Set(slots.map(({ slot }) => slot)).size).toBe(slots.length);
          for (const { slot, uuid } of bound) expect(slots.find((now) => now.slot === slot)?.uuid).toBe(uuid);
          for (const { slot, gpu } of there) expect(parseSlotName(slot)?.slice?.profile).toBe(gpu?.mig?.profile);
          bound = bindings(slots);
        }
      }),
    );
  });
});

describe('MIG slices of a device plugin', () => {
  const node = {
    metadata: { name: 'dgx-1' },
    status: { allocatable: { 'nvidia.com/mig-2g.10gb': '3', 'nvidia.com/mig-1g.5gb': '0', cpu: '4' } },
  };

  test('are found by their resources', () => {
    expect(pluginSlices(node)).toEqual(['nvidia.com/mig-2g.10gb']);
    expect(pluginSlices({ metadata: node.metadata })).toEqual([]);
  });

  test('beside a DRA driver are two stacks on one node', () => {
    const { gpus } = gpusIn(divided(3, three));
    const [message] = conflictsOf([node], gpus, 'nvidia.com/gpu');
    expect(message).toContain('the device plugin offers nvidia.com/mig-2g.10gb and gpu.nvidia.com publishes the same GPUs');
  });
});
