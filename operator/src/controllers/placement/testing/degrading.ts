import type { EnergyModel, ExpertPool } from '@agentfleet/protocol/api';
import type { PlacementSnapshot } from '../decide.ts';
import { box, device, gpuModel, gpuPool, onGpu, snapshot } from './box.ts';
import { settle } from './world.ts';

const architecture = { layers: 28, kvHeads: 4, headSize: 128, hiddenSize: 3584, feedForwardSize: 18_944, vocabulary: 152_064 };
const small = { layers: 24, kvHeads: 2, headSize: 64, hiddenSize: 896, feedForwardSize: 4864, vocabulary: 152_064 };

/** Weights of the draft in these tests: it needs somewhat more. */
export const draftBytes = 8 * 2 ** 30;

/** A core with a draft inside its engine. */
export const core = (budget: string, slot?: string): Readonly<Record<string, unknown>> => ({
  ...onGpu('gen', 'Generalist', budget, slot),
  engine: { type: 'VLLM', vLLM: { image: 'vllm:1', maxModelLen: 8192, maxNumSeqs: 16 } },
  artifact: { uri: 'pvc://models/gen' },
  speculative: { draft: { uri: 'pvc://models/draft' }, numTokens: 5 },
});

/** A pool whose weights are known. */
export function draftedPool(experts: Parameters<typeof gpuPool>[1], placement: object = {}, more: object = {}): ExpertPool {
  const pool = gpuPool('p', experts, { placement: { nvlink: 'Ignore', ...placement }, ...more });
  const artifacts = [
    { name: 'gen', uri: 'pvc://models/gen', phase: 'Ready', weightBytes: 15_231_233_024, architecture },
    { name: 'gen/draft', uri: 'pvc://models/draft', phase: 'Ready', weightBytes: draftBytes, architecture: small },
  ];
  return { ...pool, status: { ...pool.status, artifacts } } as unknown as ExpertPool;
}

/** The verifier of such a pool. */
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
