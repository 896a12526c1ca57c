import type { Gpu } from './resourceSlice.ts';

/** What is read of a node. */
export interface GpuNode {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly status?: { readonly allocatable?: Readonly<Record<string, string>> };
}

/** The extended resource that the device plugin counts whole GPUs by. */
export const pluginResource = 'nvidia.com/gpu';

/** GPUs of a node that the device plugin hands out; it does not tell which ones. */
export function pluginGpus(node: GpuNode): number {
  const count = Number(node.status?.allocatable?.[pluginResource] ?? '0');
  return Number.isSafeInteger(count) && count > 0 ? count : 0;
}

/**
 * Nodes whose GPUs two stacks hand out, the device plugin and a DRA driver: each believes that a GPU is free which the
 * other one gave away. No conflict where the DeviceClass itself serves the extended resource, as then one allocator does.
 */
export function conflictsOf(nodes: readonly GpuNode[], gpus: readonly Gpu[], extendedResourceName: string | undefined): readonly string[] {
  if (extendedResourceName === pluginResource) return [];
  const driven = new Map(gpus.map((gpu) => [gpu.node, gpu.driver]));
  return nodes
    .filter((node) => driven.has(node.metadata.name) && pluginGpus(node) > 0)
    .map(
      ({ metadata }) =>
        `node ${metadata.name}: the device plugin offers ${pluginResource} and ${driven.get(metadata.name)} publishes the same GPUs: ` +
        `remove one of them, or let the DeviceClass serve ${pluginResource} (extendedResourceName)`,
    )
    .sort();
}
