import { batchedTokens } from '../../placement/index.ts';

/** Parameters with which a vLLM engine is started. Bytes are absolute: shares of a GPU mean something else to each of its tenants. */
export interface VllmDemand {
  /** Folder of the weights inside the container. */
  readonly modelPath: string;
  readonly pool: string;
  readonly expert: string;
  /** `sha256:` of the artifact: one of the names that the engine answers to. */
  readonly digest: string;
  readonly maxModelLength: number;
  readonly maxSequences: number;
  /** Bytes of keys and values on each GPU; what placement reckoned with. */
  readonly kvCacheBytes: number;
  readonly shards: number;
  readonly adapters: { readonly count: number; readonly maxRank: number } | undefined;
  /** A draft model beside the target: on the same GPUs and split like it, as the engine starts with nothing else. */
  readonly draft: { readonly modelPath: string; readonly tokens: number } | undefined;
  /** Parser of vLLM for tool calls; undefined: it is no chat model. */
  readonly toolCallParser?: string | undefined;
  /** Whether the engine may be put to sleep (its weights go to the memory of the host). */
  readonly sleep: boolean;
  /** Further words of the user, each as it stands. */
  readonly extraArgs: readonly string[];
}

/** The port on which the engine listens. */
export const vllmPort = 8000;

/** Flags that placement and routing depend on: a user's own would make their arithmetic false. */
const reserved = [
  '--model',
  '--served-model-name',
  '--port',
  '--host',
  '--kv-cache-memory-bytes',
  '--gpu-memory-utilization',
  '--tensor-parallel-size',
  '--pipeline-parallel-size',
  '--data-parallel-size',
  '--max-model-len',
  '--max-num-seqs',
  '--max-num-batched-tokens',
  '--enable-lora',
  '--enable-sleep-mode',
  '--speculative-config',
  '--spec-method',
  '--spec-model',
  '--spec-tokens',
  '--config',
  '--api-key',
  '--max-logprobs',
  '--logprobs-mode',
  '--enable-auto-tool-choice',
  '--tool-call-parser',
] as const;

/** Short forms of them. */
const aliases = ['-tp', '-pp', '-dp', '-sc'];

/** A word of `extraArgs` that is refused. */
export class VllmArgumentError extends Error {
  constructor(word: string) {
    super(`engine.vLLM.extraArgs: ${word} is set by the operator: use the field of the engine or of its resources instead`);
    this.name = 'VllmArgumentError';
  }
}

/**
 * The first of a user's words that sets what the operator sets itself; undefined when there is none. Also by `--no-` before a name, by a
 * member (`--speculative-config.method`, `--speculative-config.method+`), and by a beginning that the engine would complete.
 */
export function reservedCondition(words: readonly string[]): string | undefined {
  return words.find((word) => {
    const flag = (/^[^=.+]*/.exec(word)?.[0] ?? word).replaceAll('_', '-');
    if (flag.length > 1 && aliases.some((one) => one.startsWith(flag))) return true;
    const name = flag.replace(/^--no-/, '--');
    return (
      reserved.some((one) => one === name) || (name.length > 3 && name.startsWith('--') && reserved.some((one) => one.startsWith(name)))
    );
  });
}

/**
 * Returns the engine's command line. Names follow vLLM's documentation of `vllm serve` (0.1x); entropy is computed from raw
 * logprobs, as a grammar's mask would hide uncertainty.
 * @throws {VllmArgumentError} an argument of the user is one that the operator sets
 */
export function vllmArguments(demand: VllmDemand): readonly string[] {
  const word = reservedCondition(demand.extraArgs);
  if (word !== undefined) throw new VllmArgumentError(word);
  return [
    // First and without a flag: `vllm serve`, which images start, takes it so in all versions, and `--model` not in all.
    demand.modelPath,
    '--served-model-name',
    ...servedNames(demand),
    '--host',
    '::',
    '--port',
    String(vllmPort),
    '--max-model-len',
    String(demand.maxModelLength),
    '--max-num-seqs',
    String(demand.maxSequences),
    '--kv-cache-memory-bytes',
    String(demand.kvCacheBytes),
    '--max-num-batched-tokens',
    String(batchedTokens),
    '--enable-prefix-caching',
    '--max-logprobs',
    '20',
    '--logprobs-mode',
    'raw_logprobs',
    '--structured-outputs-config.backend',
    'xgrammar',
    ...optionalArguments(demand),
    ...demand.extraArgs,
  ];
}

/** Ranks that engines reserve room for; an adapter of a lower one fits. */
const engineRanks = [8, 16, 32, 64, 128, 256, 320, 512];

function engineRank(rank: number): number {
  return engineRanks.find((known) => known >= rank) ?? rank;
}

function optionalArguments({ shards, adapters, draft, sleep, toolCallParser }: VllmDemand): readonly string[] {
  return [
    ...(shards > 1 ? ['--tensor-parallel-size', String(shards)] : []),
    ...(adapters === undefined
      ? []
      : ['--enable-lora', '--max-loras', String(adapters.count), '--max-lora-rank', String(engineRank(adapters.maxRank))]),
    ...(draft === undefined
      ? []
      : [
          '--speculative-config',
          JSON.stringify({ model: draft.modelPath, num_speculative_tokens: draft.tokens, draft_tensor_parallel_size: shards }),
        ]),
    ...(toolCallParser === undefined ? [] : ['--enable-auto-tool-choice', '--tool-call-parser', toolCallParser]),
    ...(sleep ? ['--enable-sleep-mode'] : []),
  ];
}

/** Names that the engine answers to; metrics carry the first. */
export function servedNames({ pool, expert, digest }: Pick<VllmDemand, 'pool' | 'expert' | 'digest'>): readonly string[] {
  const name = `${pool}.${expert}`;
  return [name, `${name}@${digest}`];
}

/** Environment of the engine's container, apart from its GPUs. */
export function vllmEnvironment({
  sleep,
  adapters,
}: Pick<VllmDemand, 'sleep' | 'adapters'>): readonly { readonly name: string; readonly value: string }[] {
  return [
    // No request for a newer model, and no usage statistics.
    { name: 'HF_HUB_OFFLINE', value: '1' },
    { name: 'VLLM_NO_USAGE_STATS', value: '1' },
    { name: 'DO_NOT_TRACK', value: '1' },
    // Sleep and adapters that change at run time are development endpoints: they are on only where they are used.
    ...(sleep ? [{ name: 'VLLM_SERVER_DEV_MODE', value: '1' }] : []),
    ...(adapters === undefined ? [] : [{ name: 'VLLM_ALLOW_RUNTIME_LORA_UPDATING', value: '1' }]),
  ];
}
