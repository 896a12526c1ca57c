import type { CounterSet, Device, ResourceSlice } from '../inventory/index.ts';

/** NVIDIA's driver. */
export const driver = 'gpu.nvidia.com';

/** A MIG slice: its size, where its memory begins, and the number of its GPU instance, by which it has its uuid. */
export interface Slice {
  readonly profile: string;
  readonly at: number;
  readonly gi: number;
}

/** Memory of a slice by the first number of its size: A100-40GB. */
const memoryMiB: Readonly<Record<string, number>> = { '1': 4864, '2': 9984, '3': 19_968, '4': 19_968, '7': 40_448 };

/** A board of 40 GiB as the driver publishes it. */
export function board(index: number, uuid = `GPU-${index}`): Device {
  return {
    name: `gpu-${index}`,
    attributes: {
      type: { string: 'gpu' },
      uuid: { string: uuid },
      productName: { string: 'NVIDIA A100-SXM4-40GB' },
      'resource.kubernetes.io/pciBusID': { string: `0000:0${index}:00.0` },
    },
    capacity: { memory: { value: '40Gi' } },
  };
}

/** A MIG slice as the driver publishes it; one that does not `exist` has no uuid. */
export function mig(index: number, { profile, at, gi }: Slice, parent = `GPU-${index}`, exists = true): Device {
  const [size = '1'] = profile;
  const uuid = `MIG-${parent.replace('GPU-', '')}-${gi}`;
  const width = { '1': 1, '2': 2, '3': 4, '4': 4, '7': 8 }[size] ?? 1;
  return {
    name: `gpu-${index}-mig-${profile.replace('.', '').replace('+', '-')}-${gi}-${at}`,
    attributes: {
      type: { string: 'mig' },
      parentUUID: { string: parent },
      profile: { string: profile },
      ...(exists ? { uuid: { string: uuid } } : {}),
      productName: { string: 'NVIDIA A100-SXM4-40GB' },
      'resource.kubernetes.io/pciBusID': { string: `0000:0${index}:00.0` },
    },
    capacity: {
      memory: { value: `${memoryMiB[size] ?? 0}Mi` },
      multiprocessors: { value: String(14 * Number(size)) },
      ...Object.fromEntries(Array.from({ length: width }, (_, slice) => [`memorySlice${at + slice}`, { value: '1' }])),
    },
  };
}

/** A board that is divided: only its slices are published. */
export function divided(index: number, slices: readonly Slice[], parent?: string): readonly Device[] {
  return slices.map((slice) => mig(index, slice, parent));
}

/** Returns a slice as the driver of a node publishes it. */
export function pool(devices: readonly Device[], sharedCounters?: readonly CounterSet[]): ResourceSlice {
  return {
    spec: {
      driver,
      nodeName: 'dgx-1',
      pool: { name: 'dgx-1', generation: 1, resourceSliceCount: 1 },
      devices,
      ...(sharedCounters === undefined ? {} : { sharedCounters }),
    },
  };
}
