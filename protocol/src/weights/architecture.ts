/** What of a transformer decides how much memory it needs besides its weights. */
export interface Architecture {
  readonly layers: number;
  /** Attention heads: GPUs that share a model have to divide them. Absent where an earlier version read the file. */
  readonly heads?: number;
  /** Key and value heads; fewer than attention heads under grouped-query attention. */
  readonly kvHeads: number;
  /** Elements per head. */
  readonly headSize: number;
  readonly hiddenSize: number;
  /** Width of the feed-forward layer. */
  readonly feedForwardSize: number;
  readonly vocabulary: number;
}

/** A description of a model that says too little or cannot be read. `field` is where, in the file's own names. */
export class ModelFileError extends Error {
  readonly field: string;

  constructor(file: string, field: string, problem: string) {
    super(`${file}: ${field} ${problem}`);
    this.name = 'ModelFileError';
    this.field = field;
  }
}

/**
 * Reads the `config.json` of a model in the layout of the transformers library.
 * @throws {ModelFileError} a size is absent or no positive integer
 */
export function readConfig(config: Readonly<Record<string, unknown>>): Architecture {
  const inner = config['text_config'];
  const source = isRecord(inner) ? inner : config;
  const size = (field: string, absent?: number): number => sizeOf('config.json', field, source[field] ?? absent);
  const heads = size('num_attention_heads');
  const hiddenSize = size('hidden_size');
  return {
    layers: size('num_hidden_layers'),
    heads,
    kvHeads: size('num_key_value_heads', heads),
    headSize: size('head_dim', hiddenSize / heads),
    hiddenSize,
    feedForwardSize: size('intermediate_size'),
    vocabulary: size('vocab_size'),
  };
}

/** @throws {ModelFileError} the value is no positive integer */
export function sizeOf(file: string, field: string, value: unknown): number {
  const number = typeof value === 'bigint' ? Number(value) : value;
  if (number === undefined || number === null)
    throw new ModelFileError(file, field, 'is absent: add it, or give the memory budget in bytes');
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number <= 0)
    throw new ModelFileError(file, field, `is ${String(value)}, and has to be a positive integer`);
  return number;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
