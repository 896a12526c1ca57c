/** The servers of a revision of a pool: which there are, how their names differ, and which of them need GPUs. Pure. */
import type { Expert, ExpertPool } from '@agentfleet/protocol/api';
import { expertHash, recordsOf, type Recorded } from '../revisions/index.ts';
import type { Images } from '../runtime/context.ts';
import type { ControllerRevision } from '../runtime/resources.ts';
import { adaptersOn, roomOf } from './weights.ts';

/** Experts and images that one revision of a pool serves. */
export interface PoolArm {
  readonly revision: string;
  readonly experts: readonly Expert[];
  readonly images: Images;
}

/** A revision on record: what it serves, and the number of its record. */
export type RecordedArm = Recorded<PoolArm>;

/** Reports whether an expert has an engine of its own that needs a GPU. */
export function needsGpu({ engine, resources, replicas }: Expert): boolean {
  if (replicas === 0 || engine.type === 'Adapter') return false;
  return engine.type === 'VLLM' || resources?.slot !== undefined || resources?.memory !== undefined;
}

/** GPUs that share the weights of an expert. */
export function shardsOf({ engine }: Pick<Expert, 'engine'>): number {
  return engine.type === 'VLLM' ? (engine.vLLM.tensorParallel ?? 1) : 1;
}

/** The GPUs that a spec names for one that spans several; undefined: the plan chooses among those that are joined. */
export function namedSlots({ engine }: Pick<Expert, 'engine'>): readonly string[] | undefined {
  return engine.type === 'VLLM' ? engine.vLLM.slots : undefined;
}

/** The image with the engine of an expert; undefined when the administrator has set none. */
export function imageOf({ engine }: Expert, images: Images): string | undefined {
  return engine.type === 'Llama' ? images.inferenceLlama : images.inference;
}

/**
 * Returns the hash that distinguishes servers of one expert, as `expertHash`; an adapter is another one on another engine,
 * and an engine is another one with other room for adapters. Pure.
 */
export function serverHash({ experts, images }: Pick<PoolArm, 'experts' | 'images'>, expert: Expert): string {
  const { engine, name } = expert;
  const image = imageOf(expert, images);
  if (engine.type === 'Adapter') {
    const base = experts.find((known) => known.name === engine.adapter.base);
    return expertHash(expert, image, base === undefined ? undefined : serverHash({ experts, images }, base));
  }
  const adapters = engine.type === 'VLLM' ? adaptersOn(experts, name) : [];
  return expertHash(expert, image, adapters.length === 0 ? undefined : roomOf(adapters));
}

/** As many pods as the spec sets now: how many there are is no part of a revision. */
function scaled(experts: readonly Expert[], pool: ExpertPool): readonly Expert[] {
  const now = new Map(pool.spec.experts.map(({ name, replicas }) => [name, replicas]));
  return experts.map((expert) => ({ ...expert, replicas: now.get(expert.name) ?? expert.replicas }));
}

/** Revisions that a pool has on record. Pure. */
export function recordedArms(pool: ExpertPool, images: Images, records: readonly ControllerRevision[]): ReadonlyMap<string, RecordedArm> {
  const { inferenceLlama: _, ...rest } = images;
  return recordsOf(pool, records, (data) => {
    const { revision, experts, images: own } = data as Partial<PoolArm>;
    if (revision === undefined || experts === undefined || own === undefined) return undefined;
    return { revision, experts: scaled(experts, pool), images: { ...rest, ...own } };
  });
}
