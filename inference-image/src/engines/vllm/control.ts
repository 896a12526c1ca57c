// inference-image, engines/vllm: HTTP client of a vLLM server. May import base, gpu, models and protocol.
import { jsonOf } from '@agentfleet/protocol/text';

/** An adapter as the engine registers it. */
export interface Adapter {
  readonly name: string;
  /** Folder inside the engine's container. */
  readonly path: string;
}

/** One chat request to an engine. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly { readonly role: 'system' | 'user'; readonly content: string }[];
  /** JSON Schema that an answer has to meet. */
  readonly schema: object;
  /** Answers wanted. */
  readonly n: number;
  readonly temperature: number;
  readonly seed: number;
  readonly maxTokens: number;
  readonly timeoutMs: number;
}

/** One answer. */
export interface ChatReply {
  readonly text: string;
  readonly tokens: number;
  /** Sum of ln p over its tokens, before a grammar's mask; null where the engine has none, or reports zeros for all. */
  readonly logLikelihood: number | null;
}

/** An engine that fails a request. */
export class VllmError extends Error {
  /** HTTP status; undefined when there was no answer. */
  readonly status: number | undefined;

  constructor(what: string, status: number | undefined, detail: string) {
    super(`vLLM: ${what} ${status === undefined ? 'got no answer' : `was answered with ${status}`}: ${detail}`);
    this.name = 'VllmError';
    this.status = status;
  }
}

interface VllmControlOptions {
  /** `http://host:port`. */
  readonly origin: string;
  readonly timeoutMs: number;
}

const longestAnswer = 4 << 20;

/** Calls an engine's own HTTP API: readiness by a real generation, sleep, adapters. */
export class VllmControl {
  readonly #options: VllmControlOptions;

  constructor(options: VllmControlOptions) {
    this.#options = options;
  }

  /** Names that the engine answers to now: its own and those of adapters. */
  async models(signal: AbortSignal): Promise<readonly string[]> {
    const body = await this.#ask('GET', '/v1/models', undefined, signal);
    const list = (body as { readonly data?: unknown }).data;
    if (!Array.isArray(list)) throw new VllmError('GET /v1/models', 200, 'no list of models');
    return list.flatMap((model: unknown) => {
      const { id } = model as { readonly id?: unknown };
      return typeof id === 'string' ? [id] : [];
    });
  }

  /**
   * One generation, as a probe of warmth: an engine that listens and cannot generate is not ready.
   * @returns whether it had logprobs; some engines answer with zeros where they have none
   */
  async generate(model: string, signal: AbortSignal): Promise<{ readonly tokens: number; readonly logprobs: boolean }> {
    const request = { model, prompt: 'def add(a, b):\n    return', max_tokens: 8, temperature: 0, seed: 1, logprobs: 1 };
    const body = await this.#ask('POST', '/v1/completions', request, signal);
    const { choices, usage } = body as {
      readonly choices?: readonly { readonly logprobs?: { readonly token_logprobs?: readonly (number | null)[] } | null }[];
      readonly usage?: { readonly completion_tokens?: number };
    };
    const tokens = usage?.completion_tokens ?? 0;
    if (tokens < 1) throw new VllmError('POST /v1/completions', 200, 'it generated no token');
    const logprobs = choices?.[0]?.logprobs?.token_logprobs ?? [];
    return { tokens, logprobs: logprobs.some((value) => typeof value === 'number' && value !== 0) };
  }

  /** Tokens whose keys and values it can hold at once, by its metrics; undefined when they do not have it. */
  async kvTokens(signal: AbortSignal): Promise<number | undefined> {
    const text = await this.#text('GET', '/metrics', undefined, signal);
    const line = text.split('\n').find((known) => known.startsWith('vllm:cache_config_info{'));
    const [blocks, size] = ['num_gpu_blocks', 'block_size'].map((label) =>
      Number(new RegExp(`[{,]${label}="(\\d+)"`).exec(line ?? '')?.[1] ?? Number.NaN),
    );
    const tokens = (blocks ?? Number.NaN) * (size ?? Number.NaN);
    return Number.isSafeInteger(tokens) && tokens > 0 ? tokens : undefined;
  }

  /**
   * Several answers to one conversation, each an object of the schema; the prompt is computed once for all of them.
   * @returns one reply per answer that is whole; those that were cut are left out
   */
  async chat(request: ChatRequest, signal: AbortSignal): Promise<readonly ChatReply[]> {
    const { model, messages, schema, n, temperature, seed, maxTokens, timeoutMs } = request;
    const body = await this.#ask(
      'POST',
      '/v1/chat/completions',
      {
        model,
        messages,
        n,
        temperature,
        seed,
        max_tokens: maxTokens,
        logprobs: true,
        response_format: { type: 'json_schema', json_schema: { name: 'proposal', schema, strict: true } },
      },
      signal,
      timeoutMs,
    );
    const { choices } = body as { readonly choices?: unknown };
    if (!Array.isArray(choices)) throw new VllmError('POST /v1/chat/completions', 200, 'no list of choices');
    return choices.flatMap(replyOf);
  }

  /** Moves the weights to the memory of the host; the prefix cache is lost. */
  async sleep(signal: AbortSignal): Promise<void> {
    await this.#ask('POST', '/sleep?level=1', undefined, signal);
  }

  async wake(signal: AbortSignal): Promise<void> {
    await this.#ask('POST', '/wake_up', undefined, signal);
  }

  async isSleeping(signal: AbortSignal): Promise<boolean> {
    const body = await this.#ask('GET', '/is_sleeping', undefined, signal);
    return (body as { readonly is_sleeping?: unknown }).is_sleeping === true;
  }

  /**
   * Registers the adapters that the engine lacks. It forgets them when it starts again: call this whenever it becomes ready.
   * @returns names that were registered now
   */
  async registerAdapters(adapters: readonly Adapter[], signal: AbortSignal): Promise<readonly string[]> {
    const known = new Set(await this.models(signal));
    const missing = adapters.filter(({ name }) => !known.has(name));
    for (const { name, path } of missing) await this.#ask('POST', '/v1/load_lora_adapter', { lora_name: name, lora_path: path }, signal);
    return missing.map(({ name }) => name);
  }

  async #ask(method: string, path: string, body: unknown, signal: AbortSignal, timeoutMs?: number): Promise<unknown> {
    // Endpoints that only do something answer with nothing, or with a sentence.
    return jsonOf(await this.#text(method, path, body, signal, timeoutMs)) ?? {};
  }

  async #text(method: string, path: string, body: unknown, signal: AbortSignal, limitMs?: number): Promise<string> {
    const { origin, timeoutMs } = this.#options;
    const what = `${method} ${path}`;
    const headers: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    const init = {
      method,
      headers,
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(limitMs ?? timeoutMs)]),
    } as const;
    const response = await fetch(`${origin}${path}`, body === undefined ? init : { ...init, body: JSON.stringify(body) }).catch(
      (error: unknown) => {
        throw new VllmError(what, undefined, (error as Error).message);
      },
    );
    const text = await boundedText(response, what);
    if (!response.ok) throw new VllmError(what, response.status, text.slice(0, 300));
    return text;
  }
}

/** The reply of one choice; none for one that was cut at its length. */
function replyOf(choice: unknown): readonly ChatReply[] {
  const { message, logprobs, finish_reason } = choice as {
    readonly message?: { readonly content?: unknown };
    readonly logprobs?: { readonly content?: readonly { readonly logprob?: unknown }[] | null } | null;
    readonly finish_reason?: unknown;
  };
  const text = message?.content;
  if (typeof text !== 'string' || finish_reason !== 'stop') return [];
  const values = (logprobs?.content ?? []).map(({ logprob }) => logprob).filter((value) => typeof value === 'number');
  const known = values.some((value) => value !== 0);
  return [{ text, tokens: values.length, logLikelihood: known ? values.reduce((sum, value) => sum + value, 0) : null }];
}

async function boundedText(response: Response, what: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > longestAnswer) throw new VllmError(what, response.status, `the answer is longer than ${longestAnswer} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
