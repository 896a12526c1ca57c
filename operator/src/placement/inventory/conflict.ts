import type { Gpu } from './resourceSlice.ts';

/** What is read of a node. */
export interface GpuNode {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly status?: { readonly allocatable?: Readonly<Record<string, string>> };
}

/** The extended resource that the device plugin counts whole GPUs by. */
export const pluginResource = 'nvidia.com/gpu';

/** Those that it counts MIG slices by (strategy mixed): `nvidia.com/mig-2g.10gb`. */
const sliceResource = /^nvidia\.com\/mig-/;

/** GPUs of a node that the device plugin hands out; it does not tell which ones. */
export function pluginGpus(node: GpuNode): number {
  return countOf(node.status?.allocatable?.[pluginResource]);
}

/** Resources by which the device plugin of a node hands out MIG slices; it does not tell of which board. */
export function pluginSlices({ status }: GpuNode): readonly string[] {
  const entries = Object.entries(status?.allocatable ?? {}).filter(([name, count]) => sliceResource.test(name) && countOf(count) > 0);
  return entries.map(([name]) => name).sort();
}

function countOf(amount = '0'): number {
  const count = Number(amount);
  return Number.isSafeInteger(count) && count > 0 ? count : 0;
}

/**
 * Nodes whose GPUs two stacks hand out, the device plugin and a DRA driver: each believes that a GPU is free which the
 * other one gave away. No conflict where the DeviceClass itself serves the extended resource, as then one allocator does.
 */
export function conflictsOf(nodes: readonly GpuNode[], gpus: readonly Gpu[], extendedResourceName: string | undefined): readonly string[] {
  const driven = new Map(gpus.map((gpu) => [gpu.node, gpu.driver]));
  return nodes
    .flatMap((node) => {
      const offered = [...(pluginGpus(node) > 0 ? [pluginResource] : []), ...pluginSlices(node)];
      const [resource] = offered.filter((name) => name !== extendedResourceName);
      const driver = driven.get(node.metadata.name);
      if (resource === undefined || driver === undefined) return [];
      return [
        `node ${node.metadata.name}: the device plugin offers ${resource} and ${driver} publishes the same GPUs: ` +
          `remove one of them, or let the DeviceClass serve ${resource} (extendedResourceName)`,
      ];
    })
    .sort();
}
