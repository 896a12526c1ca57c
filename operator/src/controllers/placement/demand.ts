import type { Demand } from './model/index.ts';
import { adapterRoom, artifactName, draftOf, shardsOf } from '../../operands/index.ts';
import type { EnergyModel, Expert, ExpertPool } from '@agentfleet/protocol/api';
import { indivisible } from './shards.ts';
import { bytesOf, estimateEngine, type Adapters, type Architecture, type EngineDemand } from '../../placement/index.ts';

/** What the headers of an engine's weights tell. */
export interface EngineSize {
  readonly weightBytes: number;
  readonly architecture: Architecture;
}

const defaultHeadroom = 0.05;

/** What vLLM batches on cards of up to 40 GiB. */
const maxBatchedTokens = 2048;

type Memory = NonNullable<NonNullable<Expert['resources']>['memory']>;

/**
 * The size of an expert's weights, or of its draft, as far as they were read. The expert may be one of another revision than
 * the spec's, whose weights have a name of their own.
 */
export function sizeOf(pool: ExpertPool, expert: Expert, name: string): EngineSize | undefined {
  const reported = artifactName(pool, expert, name);
  const found = pool.status?.artifacts?.find((artifact) => artifact.name === reported);
  if (found?.weightBytes === undefined || found.architecture === undefined) return undefined;
  return { weightBytes: found.weightBytes, architecture: found.architecture };
}

/** Inputs plus outputs of all linear layers, which adapters may adapt. */
function projectionWidth({ hiddenSize, kvHeads, headSize, feedForwardSize }: Architecture): number {
  return 4 * hiddenSize + 2 * (hiddenSize + kvHeads * headSize) + 3 * (hiddenSize + feedForwardSize);
}

/** LoRA adapters that the engine of `base` loads. */
function adaptersOf(pool: ExpertPool, base: string, architecture: Architecture): Adapters | undefined {
  const room = adapterRoom(pool, base);
  if (room === undefined) return undefined;
  return { count: room.count, rank: room.maxRank, projectionWidth: projectionWidth(architecture) };
}

interface Sizes {
  readonly size: EngineSize;
  readonly draft: EngineSize | undefined;
}

function reckon(pool: ExpertPool, expert: Expert, memory: Memory, { size, draft }: Sizes): number {
  const { engine } = expert;
  const vllm = engine.type === 'VLLM' ? engine.vLLM : undefined;
  const adapters = adaptersOf(pool, expert.name, size.architecture);
  const demand: EngineDemand = {
    ...size,
    tokens: memory.kvTokens ?? vllm?.maxModelLen ?? 8192,
    kvElementBytes: 2,
    maxSequences: vllm?.maxNumSeqs ?? 16,
    maxBatchedTokens,
    shards: shardsOf(expert),
    enforceEager: false,
    ...(draft === undefined ? {} : { draft }),
    ...(adapters === undefined ? {} : { adapters }),
  };
  const estimate = estimateEngine(demand);
  const given = bytesOf(vllm?.kvCacheBytes);
  return given === undefined ? estimate.total : estimate.total - estimate.kv + given;
}

const cure = 'wait until they are read, or give the budget in bytes';

/** Why GPUs cannot share an expert, or why that is not known; one that would end at once has no place whatever its budget is. */
function spreadLack(pool: ExpertPool, expert: Expert): Demand | undefined {
  const shards = shardsOf(expert);
  if (shards === 1) return undefined;
  const architecture = sizeOf(pool, expert, expert.name)?.architecture;
  const heads = architecture?.heads;
  if (architecture === undefined || heads === undefined) {
    const why = 'which tensorParallel has to divide, are not known (status.artifacts[].architecture.heads); wait until they are read';
    return { lack: `expert ${expert.name}: the heads of its weights, ${why}` };
  }
  const lack = indivisible(architecture, heads, shards);
  return lack === undefined ? undefined : { lack: `expert ${expert.name}: ${lack}`, reason: 'NotDivisible' };
}

/**
 * What an expert needs on its GPU: its budget, or what is reckoned from the headers of its weights. `pool` has the experts of
 * its revision; `asked` is the pool as it is, when that asks for another one. Pure.
 */
export function demandOf(pool: ExpertPool, expert: Expert, asked = pool): Demand {
  const spread = spreadLack(asked, expert);
  if (spread !== undefined) return spread;
  const memory = expert.resources?.memory ?? { budget: 'Auto' };
  const budget = bytesOf(memory.budget);
  if (budget !== undefined) return { bytes: budget * expert.replicas };
  const size = sizeOf(asked, expert, expert.name);
  const draft = expert.speculative === undefined ? undefined : sizeOf(asked, expert, draftOf(expert.name));
  const missing = (what: string): Demand => ({
    lack: `expert ${expert.name}: the size of ${what} is not known (status.artifacts); ${cure} (spec.experts[].resources.memory.budget)`,
  });
  if (size === undefined) return missing('its weights');
  if (expert.speculative !== undefined && draft === undefined) return missing('the weights of its draft');
  const headroom = memory.headroom === undefined ? defaultHeadroom : Number(memory.headroom);
  return { bytes: Math.ceil(reckon(pool, expert, memory, { size, draft }) * (1 + headroom)) * expert.replicas };
}

/** What a model needs on its GPU: its artifacts have no weights whose headers could be read. Pure. */
export function modelDemand({ spec }: EnergyModel): Demand {
  const budget = bytesOf(spec.resources.memory?.budget);
  if (budget !== undefined) return { bytes: budget * spec.resources.replicas };
  return { lack: 'the size of the model is not known; give spec.resources.memory.budget in bytes' };
}
