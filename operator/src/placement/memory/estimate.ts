import type { Architecture } from '@agentfleet/protocol/weights';

export const gibibyte = 2 ** 30;

/** The driver keeps this for itself on each GPU: an A100 of 40 GiB shows 39.5 to CUDA. */
export const driverReserveBytes = gibibyte / 2;

/** CUDA context and libraries of one process. */
export const processBytes = gibibyte / 2;

/** Buffers of the libraries by which GPUs that share one model talk (NCCL), on each: 0.6 GiB beside the 0.15 of one GPU. */
const linkBytes = 0.45 * gibibyte;

/** CUDA graphs of an engine that captures them. */
export const graphBytes = 0.3 * gibibyte;

/** Weights take a little more than their tensors: alignment and fragments of the allocator. */
const weightFactor = 1.03;

/**
 * Tokens of one step of an engine, which its command line sets. By itself vLLM takes 2,048 or 8,192 by the size of the card, which
 * is 1 GiB more for a model of 7B (measured on an H100, `hack/bench/gpu`).
 */
export const batchedTokens = 2048;

/** LoRA adapters that an engine keeps loaded at once. */
export interface Adapters {
  readonly count: number;
  readonly rank: number;
  /** Sum over the adapted projections of one layer of inputs plus outputs, in elements. */
  readonly projectionWidth: number;
}

/** A draft model inside the engine of its target: it holds keys and values for the same tokens. */
export interface Draft {
  readonly weightBytes: number;
  readonly architecture: Architecture;
}

/** One engine as it is asked for. */
export interface EngineDemand {
  readonly architecture: Architecture;
  /** Of the tensors as stored, from the header of the file. */
  readonly weightBytes: number;
  /** Tokens whose keys and values have to fit at once: sequences × context × (1 − share of common prefixes). */
  readonly tokens: number;
  readonly maxSequences: number;
  /** GPUs that share one copy of the weights (tensor parallelism). */
  readonly shards: number;
  readonly adapters?: Adapters;
  readonly draft?: Draft;
}

/** Bytes on each GPU of the engine, by what they are for. */
export interface MemoryEstimate {
  readonly weights: number;
  readonly kv: number;
  readonly activation: number;
  readonly graphs: number;
  readonly process: number;
  /** Of talk between the GPUs of the engine. */
  readonly links: number;
  readonly adapters: number;
  readonly draft: number;
  readonly total: number;
}

/**
 * Bytes of keys and values of one token over all layers, on each of `shards` GPUs: they share the heads, and where there are
 * fewer heads than GPUs each has one. Engines keep them in 16 bit.
 */
export function kvBytesPerToken({ layers, kvHeads, headSize }: Architecture, shards = 1): number {
  const heads = Math.max(1, kvHeads / shards);
  return 2 * layers * heads * headSize * 2;
}

/**
 * Largest memory of activations, in bytes. A fit: logits of all sequences in 32 bit with the sampler's copies, and one
 * layer's feed-forward over a whole batch. It meets the figures that others published for H100 within 12 %; the first
 * start of an engine replaces it by what was measured.
 */
export function activationBytes(architecture: Architecture, maxSequences: number): number {
  const logits = 9 * maxSequences * architecture.vocabulary * 4;
  return logits + batchedTokens * (2 * architecture.feedForwardSize + 4 * architecture.hiddenSize) * 2;
}

/** Memory of one engine on each of its GPUs, in whole bytes. Pure. */
export function estimateEngine(demand: EngineDemand): MemoryEstimate {
  const { architecture, shards, draft, adapters } = demand;
  const perToken = kvBytesPerToken(architecture, shards);
  const draftPerToken = draft === undefined ? 0 : kvBytesPerToken(draft.architecture, shards);
  const parts = {
    weights: (weightFactor * demand.weightBytes) / shards,
    kv: demand.tokens * perToken,
    activation: activationBytes(architecture, demand.maxSequences),
    graphs: graphBytes,
    process: processBytes,
    links: shards > 1 ? linkBytes : 0,
    // Of the two halves of an adapter engines split one only.
    adapters: adapters === undefined ? 0 : adapters.count * adapters.rank * adapters.projectionWidth * architecture.layers * 2,
    // A draft is split as its target is: the engine starts with nothing else.
    draft: draft === undefined ? 0 : (weightFactor * draft.weightBytes) / shards + demand.tokens * draftPerToken,
  };
  const whole = Object.fromEntries(Object.entries(parts).map(([name, bytes]) => [name, Math.ceil(bytes)])) as typeof parts;
  return { ...whole, total: Object.values(whole).reduce((sum, bytes) => sum + bytes, 0) };
}

/** Bytes of a GPU that tenants may use, of its whole memory. */
export function usableBytes(totalBytes: number): number {
  return Math.max(0, totalBytes - driverReserveBytes);
}

/** An estimate that misses the measured memory by more than this share is reported as `EstimateDrift`. */
export const driftTolerance = 0.15;

/** An estimate beside what the running engine takes. Bytes; the ratio is a decimal string, as floats do not go into status. */
export interface MemoryFeedback {
  readonly estimated: number;
  readonly measured: number;
  /** (measured − estimated) / measured, with three decimals. */
  readonly errorRatio: string;
  readonly drifted: boolean;
}

/** Compares an estimate with a measurement. Undefined when nothing was measured. */
export function compareMemory(estimated: number, measured: number | undefined): MemoryFeedback | undefined {
  if (measured === undefined || !Number.isFinite(measured) || measured <= 0) return undefined;
  const error = (measured - estimated) / measured;
  return { estimated, measured, errorRatio: error.toFixed(3), drifted: Math.abs(error) > driftTolerance };
}
