import { bytesOf } from './quantity.ts';
import type { Device, Gpu, InventoryProblem, ResourceSlice } from './resourceSlice.ts';

export interface PublishedGpus {
  readonly gpus: readonly Gpu[];
  readonly problems: readonly InventoryProblem[];
}

/**
 * The GPUs that a driver publishes. Of each pool only the newest generation counts, and only when all its slices are there:
 * half a pool would look like GPUs that are gone. Devices without uuid or memory are named as problems; parts of a GPU
 * (MIG) are left out.
 */
export function gpusOf(slices: readonly ResourceSlice[], driver: string): PublishedGpus {
  const gpus: Gpu[] = [];
  const problems: InventoryProblem[] = [];
  for (const pool of poolsOf(slices.filter((slice) => slice.spec.driver === driver))) {
    const [first] = pool;
    const node = first?.spec.nodeName;
    if (first === undefined || node === undefined) continue;
    const { resourceSliceCount, name } = first.spec.pool;
    if (pool.length < resourceSliceCount) {
      problems.push({ node, message: `pool ${name} has ${pool.length} of its ${resourceSliceCount} ResourceSlices: wait for the driver` });
      continue;
    }
    for (const device of pool.flatMap((slice) => slice.spec.devices ?? [])) {
      if (textOf(device, driver, 'type') === 'mig') continue;
      const gpu = gpuOf(first, node, device);
      if (typeof gpu === 'string') problems.push({ node, device: device.name, message: gpu });
      else gpus.push(gpu);
    }
  }
  return { gpus, problems };
}

function poolsOf(slices: readonly ResourceSlice[]): readonly (readonly ResourceSlice[])[] {
  const pools = new Map<string, ResourceSlice[]>();
  for (const slice of slices) pools.set(slice.spec.pool.name, [...(pools.get(slice.spec.pool.name) ?? []), slice]);
  return [...pools.values()].map((pool) => {
    const newest = Math.max(...pool.map((slice) => slice.spec.pool.generation));
    return pool.filter((slice) => slice.spec.pool.generation === newest);
  });
}

function gpuOf({ spec }: ResourceSlice, node: string, device: Device): Gpu | string {
  const uuid = textOf(device, spec.driver, 'uuid');
  if (uuid === undefined) return `device ${device.name} publishes no uuid: it cannot be pinned`;
  const memory = device.capacity?.['memory'] ?? device.capacity?.[`${spec.driver}/memory`];
  const memoryBytes = bytesOf(memory?.value);
  if (memoryBytes === undefined || memoryBytes === 0) return `device ${device.name} publishes no capacity memory`;
  return {
    node,
    driver: spec.driver,
    pool: spec.pool.name,
    device: device.name,
    uuid,
    pciBusID: textOf(device, spec.driver, 'resource.kubernetes.io/pciBusID'),
    productName: textOf(device, spec.driver, 'productName'),
    memoryBytes,
    taints: (device.taints ?? []).filter(({ effect }) => effect !== 'None'),
    sharedByBytes: device.allowMultipleAllocations === true && memory?.requestPolicy !== undefined,
  };
}

/** An attribute of text; names without a domain may be written with the driver's. */
function textOf(device: Device, driver: string, name: string): string | undefined {
  const attribute = device.attributes?.[name] ?? device.attributes?.[`${driver}/${name}`];
  return attribute?.string;
}
