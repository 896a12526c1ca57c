/** Command line of an engine. */
export interface EngineCommand {
  /** Folder of the weights. */
  readonly model: string;
  /** Flags with their words; those without any are on. */
  readonly flags: ReadonlyMap<string, readonly string[]>;
}

/** A command line that vLLM does not understand. */
export class CommandLineError extends Error {
  constructor(message: string) {
    super(`vllm serve: error: ${message}`);
    this.name = 'CommandLineError';
  }
}

type Check = (word: string) => boolean;

/** A name of the machine's own: a host, a key, a plugin. */
const named: Check = (word) => /^\S+$/.test(word);
const count: Check = (word) => /^\d+$/.test(word);
const oneOf =
  (...words: readonly string[]): Check =>
  (word) =>
    words.includes(word);
const object: Check = (word) => {
  try {
    const value = JSON.parse(word) as unknown;
    return typeof value === 'object' && value !== null;
  } catch {
    return false;
  }
};

/** Flags with one word, as vLLM's documentation of `vllm serve` has them (0.11 to 0.14). */
const valued: Readonly<Record<string, Check>> = {
  '--additional-config': object,
  '--api-key': named,
  '--block-size': count,
  '--dtype': oneOf('auto', 'half', 'float16', 'bfloat16', 'float', 'float32'),
  '--gpu-memory-utilization': (word) => Number(word) > 0 && Number(word) <= 1,
  '--host': named,
  '--kv-cache-dtype': oneOf('auto', 'bfloat16', 'fp8', 'fp8_e4m3', 'fp8_e5m2', 'fp8_inc'),
  '--kv-cache-memory-bytes': count,
  '--load-format': (word) => /^[a-z][a-z0-9_-]*$/.test(word),
  '--logprobs-mode': oneOf('raw_logprobs', 'processed_logprobs', 'raw_logits', 'processed_logits'),
  '--max-logprobs': count,
  '--max-lora-rank': oneOf('8', '16', '32', '64', '128', '256', '320', '512'),
  '--max-loras': count,
  '--max-model-len': count,
  '--max-num-batched-tokens': count,
  '--max-num-seqs': count,
  '--pipeline-parallel-size': count,
  '--port': count,
  '--quantization': named,
  '--seed': count,
  '--speculative-config': object,
  '--structured-outputs-config.backend': oneOf('auto', 'xgrammar', 'guidance', 'outlines', 'lm-format-enforcer'),
  '--tensor-parallel-size': count,
};

const several = new Set(['--served-model-name']);
const switches = new Set([
  '--enable-lora',
  '--enable-prefix-caching',
  '--enable-sleep-mode',
  '--enforce-eager',
  '--no-enable-prefix-caching',
  '--trust-remote-code',
]);

/**
 * Reads the arguments of `vllm serve`: one folder of weights, and flags that it has. Some versions refuse `--model`,
 * and this one does.
 * @throws {CommandLineError} a word unknown to vLLM
 */
export function readCommandLine(words: readonly string[]): EngineCommand {
  const flags = new Map<string, readonly string[]>();
  const models: string[] = [];
  for (let at = 0; at < words.length;) {
    const word = words[at++] ?? '';
    if (!word.startsWith('--')) {
      models.push(word);
      continue;
    }
    const [given = '', ...rest] = word.split('=');
    const name = given.replaceAll('_', '-');
    const own = rest.length > 0 ? [rest.join('=')] : [];
    while (own.length < roomOf(name) && rest.length === 0 && at < words.length && !(words[at] ?? '').startsWith('--'))
      own.push(words[at++] ?? '');
    flags.set(name, checked(name, own));
  }
  const [model] = models;
  if (model === undefined || models.length > 1) throw new CommandLineError(`one model, not ${JSON.stringify(models)}`);
  return { model, flags };
}

function roomOf(name: string): number {
  if (switches.has(name)) return 0;
  return several.has(name) ? Number.POSITIVE_INFINITY : 1;
}

function checked(name: string, words: readonly string[]): readonly string[] {
  const check = valued[name];
  if (check === undefined && !several.has(name) && !switches.has(name)) throw new CommandLineError(`unrecognized arguments: ${name}`);
  if (words.length === 0 && !switches.has(name)) throw new CommandLineError(`argument ${name}: expected one argument`);
  const bad = check === undefined ? undefined : words.find((word) => !check(word));
  if (bad !== undefined) throw new CommandLineError(`argument ${name}: invalid value: ${JSON.stringify(bad)}`);
  return words;
}
