import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bindSlots, bytesOf, conflictsOf, gpusOf, type Device, type Gpu, type ResourceSlice, type SlotBinding } from './index.ts';

const driver = 'gpu.nvidia.com';

function device(index: number, more: Partial<Device> = {}): Device {
  return {
    name: `gpu-${index}`,
    attributes: {
      type: { string: 'gpu' },
      uuid: { string: `GPU-${index}` },
      productName: { string: 'NVIDIA A100-SXM4-40GB' },
      'resource.kubernetes.io/pciBusID': { string: `0000:0${index}:00.0` },
    },
    capacity: { memory: { value: '40Gi' } },
    ...more,
  };
}

function slice(
  devices: readonly Device[],
  pool: Partial<ResourceSlice['spec']['pool']> = {},
  more: Partial<ResourceSlice['spec']> = {},
): ResourceSlice {
  return { spec: { driver, nodeName: 'dgx-1', pool: { name: 'dgx-1', generation: 1, resourceSliceCount: 1, ...pool }, devices, ...more } };
}

const four = gpusOf([slice([3, 1, 0, 2].map((index) => device(index)))], driver).gpus;
const bindings = (slots: ReturnType<typeof bindSlots>): readonly SlotBinding[] =>
  slots.map(({ slot, uuid, pciBusID }) => ({ slot, uuid, pciBusID }));

describe('GPUs that a driver publishes', () => {
  test('are read with the names of its attributes', () => {
    expect(four[1]).toEqual({
      node: 'dgx-1',
      driver,
      device: 'gpu-1',
      uuid: 'GPU-1',
      pciBusID: '0000:01:00.0',
      memoryBytes: 40 * 2 ** 30,
      taints: [],
      sharedByBytes: false,
    });
  });

  test('count only in the newest generation of their pool, and only when it is whole', () => {
    const old = slice([device(9)], { generation: 1 });
    const newer = slice([device(0)], { generation: 2, resourceSliceCount: 2 });
    const rest = slice([device(1)], { generation: 2, resourceSliceCount: 2 });
    expect(gpusOf([old, newer, rest], driver).gpus.map(({ uuid }) => uuid)).toEqual(['GPU-0', 'GPU-1']);
    const half = gpusOf([old, newer], driver);
    expect(half.gpus).toEqual([]);
    expect(half.problems[0]?.message).toContain('1 of its 2 ResourceSlices');
    expect([...half.pending]).toEqual([['dgx-1', half.problems[0]?.message]]);
  });

  test('without uuid or memory are named, those of virtual machines and of other drivers left out', () => {
    const result = gpusOf(
      [
        slice([device(0, { attributes: {} }), device(1, { capacity: {} }), device(2, { attributes: { type: { string: 'vfio' } } })]),
        slice([device(3)], { name: 'other' }, { driver: 'nic.example.com' }),
      ],
      driver,
    );
    expect(result.gpus).toEqual([]);
    expect(result.problems.map(({ message }) => message)).toEqual([
      'device gpu-0 publishes no uuid: it cannot be pinned',
      'device gpu-1 publishes no capacity memory',
    ]);
  });

  test('may be shared by bytes when the slice declares it', () => {
    const capacity = { memory: { value: '40Gi', requestPolicy: { validRange: { min: '1Mi' } } } };
    expect(gpusOf([slice([device(0, { allowMultipleAllocations: true, capacity })])], driver).gpus[0]?.sharedByBytes).toBe(true);
    expect(gpusOf([slice([device(0, { capacity })])], driver).gpus[0]?.sharedByBytes).toBe(false);
    expect(gpusOf([slice([device(0, { allowMultipleAllocations: true })])], driver).gpus[0]?.sharedByBytes).toBe(false);
  });
});

describe('names of slots', () => {
  const first = bindSlots(four, []);

  test('follow the PCI bus at first, whatever the order of the devices', () => {
    expect(first.map(({ slot, uuid, state }) => [slot, uuid, state])).toEqual(
      [0, 1, 2, 3].map((n) => [`dgx-1/gpu${n}`, `GPU-${n}`, 'Ready']),
    );
  });

  test('stay with their uuid when the driver renames and moves devices', () => {
    const moved = four.map((gpu): Gpu => ({ ...gpu, device: `x-${gpu.uuid}`, pciBusID: `0000:f${9 - Number(gpu.uuid.slice(4))}:00.0` }));
    expect(bindSlots(moved, bindings(first)).map(({ slot, uuid }) => [slot, uuid])).toEqual(first.map(({ slot, uuid }) => [slot, uuid]));
  });

  test('a board in the place of another one needs a human', () => {
    const swapped = four.map((gpu) => (gpu.uuid === 'GPU-2' ? { ...gpu, uuid: 'GPU-new' } : gpu));
    const slots = bindSlots(swapped, bindings(first));
    expect(slots[2]).toMatchObject({ slot: 'dgx-1/gpu2', uuid: 'GPU-2', state: 'Rebound', gpu: undefined });
    expect(slots[2]?.message).toContain('GPU-new is in the place of GPU-2: approve');
    expect(slots).toHaveLength(4);
    const approved = bindSlots(swapped, bindings(first), new Map([['dgx-1/gpu2', 'GPU-new']]));
    expect(approved[2]).toMatchObject({ slot: 'dgx-1/gpu2', uuid: 'GPU-new', state: 'Ready' });
    const foreign = bindSlots(swapped, bindings(first), new Map([['dgx-1/gpu2', 'GPU-1']]));
    expect(foreign[2]?.state).toBe('Rebound');
  });

  test('a lost board leaves its name behind, and another GPU gets the next number', () => {
    const rest = four.filter(({ uuid }) => uuid !== 'GPU-1');
    const added = { ...(four[0] as Gpu), uuid: 'GPU-9', pciBusID: '0000:09:00.0' };
    const slots = bindSlots([...rest, added], bindings(first));
    expect(slots.map(({ slot, state }) => `${slot} ${state}`)).toEqual([
      'dgx-1/gpu0 Ready',
      'dgx-1/gpu1 Gone',
      'dgx-1/gpu2 Ready',
      'dgx-1/gpu3 Ready',
      'dgx-1/gpu4 Ready',
    ]);
  });

  test('a board that is in another node now has a name there, leaves its old one behind, and gets it back', () => {
    const moved = four.map((gpu) => (gpu.uuid === 'GPU-1' ? { ...gpu, node: 'dgx-2' } : gpu));
    const slots = bindSlots(moved, bindings(first));
    const states = slots.map(({ slot, uuid, node, state }) => `${slot} ${uuid} ${node} ${state}`);
    expect(states).toEqual([
      'dgx-1/gpu0 GPU-0 dgx-1 Ready',
      'dgx-1/gpu1 GPU-1 dgx-1 Gone',
      'dgx-1/gpu2 GPU-2 dgx-1 Ready',
      'dgx-1/gpu3 GPU-3 dgx-1 Ready',
      'dgx-2/gpu0 GPU-1 dgx-2 Ready',
    ]);
    expect(slots[1]?.message).toBe('board GPU-1 is in node dgx-2 now: name its slot there');
    expect(bindSlots(moved, bindings(slots))).toEqual(slots);
    expect(bindSlots(four, bindings(slots)).map(({ slot, state }) => `${slot} ${state}`)).toEqual([
      ...first.map(({ slot }) => `${slot} Ready`),
      'dgx-2/gpu0 Gone',
    ]);
  });

  test('a board of a node that is not published whole is awaited, not gone, and nothing is in its place', () => {
    const swapped = four.map((gpu) => (gpu.uuid === 'GPU-2' ? { ...gpu, uuid: 'GPU-new' } : gpu)).filter(({ uuid }) => uuid !== 'GPU-0');
    const bound = [...bindings(first), { slot: 'dgx-2/gpu0', uuid: 'GPU-9', pciBusID: undefined }];
    const slots = bindSlots(swapped, bound, undefined, new Map([['dgx-1', 'half']]));
    expect(slots.map(({ slot, state }) => `${slot} ${state}`)).toEqual([
      'dgx-1/gpu0 Pending',
      'dgx-1/gpu1 Ready',
      'dgx-1/gpu2 Pending',
      'dgx-1/gpu3 Ready',
      'dgx-2/gpu0 Gone',
    ]);
    expect(slots[2]).toEqual({ ...bound[2], node: 'dgx-1', gpu: undefined, state: 'Pending', message: 'half' });
  });

  test('a taint makes a slot unusable', () => {
    const tainted = four.map((gpu): Gpu => ({
      ...gpu,
      taints: gpu.uuid === 'GPU-0' ? [{ key: 'xid', value: '79', effect: 'NoExecute' }] : [],
    }));
    expect(bindSlots(tainted, [])[0]).toMatchObject({ state: 'Tainted' });
  });

  test('are given once: whatever comes and goes, no uuid has two names and no name changes its uuid', () => {
    const numbers = fc.uniqueArray(fc.integer({ min: 0, max: 9 }), { maxLength: 6 });
    fc.assert(
      fc.property(fc.array(numbers, { minLength: 1, maxLength: 8 }), (history) => {
        let bound: readonly SlotBinding[] = [];
        for (const present of history) {
          const gpus = gpusOf([slice(present.map((index) => device(index)))], driver).gpus;
          const slots = bindSlots(gpus, bound);
          expect(new Set(slots.map(({ uuid }) => uuid)).size).toBe(slots.length);
          expect(new Set(slots.map(({ slot }) => slot)).size).toBe(slots.length);
          for (const { slot, uuid } of bound) expect(slots.find((now) => now.slot === slot)?.uuid).toBe(uuid);
          bound = bindings(slots);
        }
      }),
    );
  });
});

describe('two stacks on one node', () => {
  const node = { metadata: { name: 'dgx-1' }, status: { allocatable: { 'nvidia.com/gpu': '4' } } };

  test('are refused with the cure, unless one allocator serves both', () => {
    const [message] = conflictsOf([node], four, undefined);
    expect(message).toMatch(/node dgx-1: the device plugin offers nvidia.com\/gpu and gpu.nvidia.com publishes the same GPUs: remove one/);
    expect(conflictsOf([node], four, 'nvidia.com/gpu')).toEqual([]);
    expect(conflictsOf([{ metadata: { name: 'dgx-1' }, status: { allocatable: { 'nvidia.com/gpu': '0' } } }], four, undefined)).toEqual([]);
    expect(conflictsOf([{ ...node, metadata: { name: 'cpu-1' } }], four, undefined)).toEqual([]);
  });
});

describe('quantities', () => {
  test('are bytes, rounded up', () => {
    expect(bytesOf('40Gi')).toBe(42_949_672_960);
    expect(bytesOf('39.5Gi')).toBe(39.5 * 2 ** 30);
    expect(['0.5', '1500m', '1.5Ki'].map(bytesOf)).toEqual([1, 2, 1536]);
    // All that the schema of a budget lets through.
    expect(['1.0000000001k', '5368709120000m', '0.0005E', '0.0005Ei'].map(bytesOf)).toEqual([
      1001, 5_368_709_120, 5e14, 576_460_752_303_424,
    ]);
    expect(bytesOf('42949672960')).toBe(42_949_672_960);
    for (const bad of ['', '-1', '1e3', 'Gi', '40gi', '99999999999999P', undefined]) expect(bytesOf(bad)).toBeUndefined();
  });
});
