import type { ExpertPool } from '@agentfleet/protocol/api';
import type { Link } from '../../../placement/index.ts';
import { gpuPool } from './box.ts';

/** Of a model of 13B, as its config.json has it. */
export const thirteen = {
  layers: 40,
  heads: 40,
  kvHeads: 40,
  headSize: 128,
  hiddenSize: 5120,
  feedForwardSize: 13_824,
  vocabulary: 32_016,
} as const;

/** An expert whose engine spans GPUs. */
export function wide(
  name: string,
  budget: string,
  tensorParallel = 2,
  more: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  const { slots, ...rest } = more;
  const vLLM = { image: 'vllm:1', maxModelLen: 8192, maxNumSeqs: 16, tensorParallel, ...(slots === undefined ? {} : { slots }) };
  return {
    name,
    replicas: 1,
    domains: ['*'],
    role: 'Generalist',
    engine: { type: 'VLLM', vLLM },
    artifact: { uri: 'pvc://models/core' },
    resources: { memory: { budget } },
    ...rest,
  };
}

/** A pool whose weights were read. */
export function readPool(
  name: string,
  experts: Parameters<typeof gpuPool>[1],
  spec: Readonly<Record<string, unknown>> = {},
  architecture: Readonly<Record<string, number>> = thirteen,
): ExpertPool {
  const pool = gpuPool(name, experts, spec);
  const artifacts = experts.map((expert) => ({
    name: expert['name'],
    uri: 'pvc://models/core',
    phase: 'Ready',
    weightBytes: 26_031_738_880,
    architecture,
  }));
  return { ...pool, status: { ...pool.status, artifacts } } as unknown as ExpertPool;
}

const gpu = (index: number): string => `dgx-1/gpu${index}`;

/** NVLink between these GPUs of the box. */
export const pairs = (...joined: readonly (readonly [number, number])[]): readonly Link[] =>
  joined.map(([a, b]): Link => ({ a: gpu(a), b: gpu(b), type: 'NV' }));

/** NVLink between all four. */
export const everyPair = pairs([0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]);
