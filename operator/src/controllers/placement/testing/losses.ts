import type { EnergyModel } from '@agentfleet/protocol/api';
import type { PlacementSnapshot } from '../decide.ts';
import { box, device, gpuModel, snapshot } from './box.ts';
import { settle } from './world.ts';

/** A verifier that needs a GPU. */
export const verifier = (more: object = {}): EnergyModel => gpuModel('judge', { memory: { budget: '5Gi' }, ...more });

export const taint = (value = '79') => ({ key: 'gpu.nvidia.com/xid', value, effect: 'NoExecute' as const });

/** The same world with so many GPUs, of which some are sick. */
export function withSick(world: PlacementSnapshot, count: number, sick: readonly number[]): PlacementSnapshot {
  const devices = Array.from({ length: count }, (_, index) => device(index, sick.includes(index) ? { taints: [taint()] } : {}));
  return { ...world, cluster: { ...world.cluster, slices: box(devices).slices } };
}

/** A world at rest with so many GPUs. */
export function atRest(count: number, parts: Partial<PlacementSnapshot>, at?: number): PlacementSnapshot {
  return settle(snapshot({ cluster: box(Array.from({ length: count }, (_, index) => device(index))), ...parts }), at);
}

/** The number of the GPU of an engine. */
export function gpuOf({ pools, models }: PlacementSnapshot, item: string): number | undefined {
  const all = [...pools, ...models].flatMap(({ status }) => status?.plan?.assignments ?? []);
  const slot = all.find((place) => place.item === item)?.slot;
  return slot === undefined ? undefined : Number(slot.at(-1));
}
