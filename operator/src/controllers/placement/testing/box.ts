import type { ClusterView } from '../model/index.ts';
import type { EnergyModel, ExpertPool } from '@agentfleet/protocol/api';
import type { Device } from '../../../placement/index.ts';
import type { PublishedSlice } from '../../../runtime/resources.ts';
import type { PlacementSnapshot } from '../decide.ts';
import { emptyBook } from '../slots.ts';

export const gpuDriver = { driver: 'gpu.nvidia.com', deviceClass: 'gpu.nvidia.com' } as const;
export const uuids = ['GPU-7a', 'GPU-1c', 'GPU-f0', 'GPU-3d'];

/** A device as the driver publishes an A100 of 40 GiB. */
export function device(index: number, more: Partial<Device> = {}, uuid = uuids[index] ?? `GPU-${index}`): Device {
  return {
    name: `gpu-${index}`,
    attributes: {
      type: { string: 'gpu' },
      uuid: { string: uuid },
      'resource.kubernetes.io/pciBusID': { string: `0000:0${index}:00.0` },
    },
    capacity: { memory: { value: '40Gi' } },
    ...more,
  };
}

/** Returns a slice as the driver of a node publishes it. */
export function slice(devices: readonly Device[], node = 'dgx-1', generation = 1): PublishedSlice {
  const pool = { name: node, generation, resourceSliceCount: 1 };
  return { metadata: { name: node }, spec: { driver: gpuDriver.driver, nodeName: node, pool, devices } };
}

/** A node with four A100, and no tenant on it. */
export function box(devices: readonly Device[] = [0, 1, 2, 3].map((index) => device(index)), more: Partial<ClusterView> = {}): ClusterView {
  return {
    driver: gpuDriver,
    resourceApi: true,
    slices: [slice(devices)],
    deviceClasses: [{ metadata: { name: gpuDriver.deviceClass } }],
    nodes: [{ metadata: { name: 'dgx-1' } }],
    runtimeClass: false,
    book: emptyBook,
    recorded: [],
    holders: [],
    ...more,
  };
}

/** Status that its own controller has written: placement writes after it. */
const ready = {
  conditions: [{ type: 'Ready', status: 'False', reason: 'Progressing', message: '', lastTransitionTime: '2030-01-01T00:00:00Z' }],
};

type Experts = readonly Readonly<Record<string, unknown>>[];

/** All are of one age, unless a test sets it: then names decide which is first. */
const creationTimestamp = '2030-01-01T00:00:00Z';

/** A pool with these experts, as the API server returns it. */
export function gpuPool(name: string, experts: Experts, spec: Readonly<Record<string, unknown>> = {}, namespace = 'platform'): ExpertPool {
  return {
    apiVersion: 'agentfleet.dev/v1alpha1',
    kind: 'ExpertPool',
    metadata: { name, namespace, uid: `uid-${namespace}-${name}`, generation: 1, creationTimestamp },
    status: ready,
    spec: { ...spec, experts: experts.map((expert) => ({ replicas: 1, domains: ['*'], engine: { type: 'Synth' }, ...expert })) },
  } as unknown as ExpertPool;
}

/** A model on a GPU. */
export function gpuModel(name: string, resources: Readonly<Record<string, unknown>>, namespace = 'platform'): EnergyModel {
  return {
    apiVersion: 'agentfleet.dev/v1alpha1',
    kind: 'EnergyModel',
    metadata: { name, namespace, uid: `uid-${namespace}-${name}`, generation: 1, creationTimestamp },
    status: ready,
    spec: { artifact: { uri: 'builtin://features-v1' }, resources: { replicas: 1, ...resources } },
  } as unknown as EnergyModel;
}

/** An expert on a slot, or wherever it fits. */
export function onGpu(name: string, role: string, budget: string, slot?: string): Readonly<Record<string, unknown>> {
  return { name, role, resources: { memory: { budget }, ...(slot === undefined ? {} : { slot }) } };
}

export function snapshot(parts: Partial<PlacementSnapshot> = {}): PlacementSnapshot {
  const revisions = { images: { agent: 'agent:1', inference: 'inference:1', sandbox: 'sandbox:1', tools: 'tools:1' }, records: [] };
  return {
    pools: [],
    models: [],
    cluster: box(),
    claims: [],
    progress: () => 'Ready',
    present: () => false,
    runs: () => true,
    revisions,
    inUse: new Set(),
    probe: undefined,
    ...parts,
  };
}
