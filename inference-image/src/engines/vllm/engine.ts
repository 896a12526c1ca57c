import { generatingRoles, type EngineMemory, type GenerateRequest } from '@agentfleet/protocol/inference';
import { byEnergy, type Found, type Generated } from '../../base/engine.ts';
import type { VllmConfig } from '../../base/config.ts';
import { codeDigest, type Answer, type Engine } from '../../base/served.ts';
import { InferenceError } from '../../base/failure.ts';
import { VllmControl, VllmError, type Adapter, type ChatReply } from './control.ts';
import { conversation, proposalSchema, proposalOf } from './proposal.ts';
import { Residency } from './residency.ts';

interface VllmEngineOptions {
  readonly control: VllmControl;
  /** Name that the engine answers to; with an adapter, the adapter's. */
  readonly model: string;
  /** Adapter to load before it is ready; a restart loses it. */
  readonly adapter: Adapter | undefined;
  /** Tokens of a request with its answer. */
  readonly contextTokens: number;
  readonly residency: Pick<Residency, 'awake' | 'prove' | 'close'> | undefined;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** `sha256:` of code, weights and adapter. */
  readonly modelDigest: string;
}

const mostAnswerTokens = 1024;

interface ChatLimits {
  readonly answerTokens: number;
  readonly budgetMs: number;
}

/**
 * A language model behind vLLM's HTTP API. The k candidates of a request are requested at once, so that their prompt is
 * computed once; an answer that does not fit the files is left out.
 */
export class VllmEngine implements Engine {
  readonly name = 'VLLM';
  readonly roles = generatingRoles;
  readonly learned = true;
  readonly languages = ['*'];
  readonly modelDigest: string;
  readonly #options: VllmEngineOptions;
  #kvTokens: number | undefined;

  constructor(options: VllmEngineOptions) {
    this.#options = options;
    this.modelDigest = options.modelDigest;
  }

  /** All requests at once: the engine batches them itself. */
  generate(batch: readonly GenerateRequest[], signal: AbortSignal): Promise<readonly Answer<Generated>[]> {
    return Promise.all(
      batch.map((request) => {
        const run = (): Promise<Generated> => this.#generate(request, request.budgetMillis, signal);
        const answer = this.#options.residency?.awake(run, signal) ?? run();
        return answer.then(
          (answer): Answer<Generated> => ({ answer }),
          (error: unknown): Answer<Generated> => ({ error: asRefusal(error) }),
        );
      }),
    );
  }

  /** One real generation. A sleeping engine was proved before, and is not woken for it. */
  async prove(): Promise<void> {
    const proof = (): Promise<void> => this.#proof();
    await (this.#options.residency?.prove(proof) ?? proof());
  }

  async #proof(): Promise<void> {
    const { control, model, adapter } = this.#options;
    const { signal } = new AbortController();
    if (adapter !== undefined) await control.registerAdapters([adapter], signal);
    await control.generate(model, signal);
    // An engine without this metric is still ready.
    this.#kvTokens = await control.kvTokens(signal).catch(() => this.#kvTokens);
  }

  memory(): EngineMemory | undefined {
    return this.#kvTokens === undefined ? undefined : { kvTokens: this.#kvTokens };
  }

  close(): Promise<void> {
    this.#options.residency?.close();
    return Promise.resolve();
  }

  async #generate(request: GenerateRequest, budgetMs: number, signal: AbortSignal): Promise<Generated> {
    const { contextTokens, now } = this.#options;
    const started = now();
    const answerTokens = Math.min(mostAnswerTokens, Math.floor(contextTokens / 4));
    const replies = await this.#chat(request, { answerTokens, budgetMs }, signal);
    return chosen(replies, request, Math.round(now() - started));
  }

  async #chat(request: GenerateRequest, { answerTokens, budgetMs }: ChatLimits, signal: AbortSignal): Promise<readonly ChatReply[]> {
    const { control, model, contextTokens, adapter } = this.#options;
    const asked = {
      model,
      messages: conversation(request, contextTokens - answerTokens),
      schema: proposalSchema(request),
      n: request.k,
      // One answer is the likeliest; several have to differ.
      temperature: request.k === 1 && request.exclude.length === 0 ? 0 : 0.8,
      // A repeated request should find new answers.
      seed: (request.seed + request.exclude.length) % 4_294_967_295,
      maxTokens: answerTokens,
      timeoutMs: budgetMs,
    };
    try {
      return await control.chat(asked, signal);
    } catch (error) {
      // It has started again since it was proved, and has no adapter yet.
      if (adapter === undefined || !(error instanceof VllmError) || error.status !== 404) throw error;
      await control.registerAdapters([adapter], signal);
      return control.chat(asked, signal);
    }
  }
}

/** An unavailable or overloaded engine may be retried; one that refuses the request may not. */
function asRefusal(error: unknown): unknown {
  if (!(error instanceof VllmError)) return error;
  const { status } = error;
  const code = status === undefined || status === 429 || status >= 500 ? 'AF_ENGINE_UNAVAILABLE' : 'AF_INTERNAL';
  return new InferenceError(code, `the language model: ${error.message}`, { cause: error });
}

function chosen(replies: readonly ChatReply[], request: GenerateRequest, millis: number): Generated {
  const found = new Map<string, Found>();
  for (const { text, logLikelihood } of replies) {
    const proposal = proposalOf(text, request);
    // Without likelihoods all answers are alike: the verifier decides.
    const energy = logLikelihood === null ? 0 : -logLikelihood;
    if (proposal !== null && energy < (found.get(proposal.id)?.energy ?? Infinity)) found.set(proposal.id, { ...proposal, energy });
  }
  const { left: _left, ...best } = byEnergy(found.values(), request);
  return {
    ...best,
    // A model that samples is never at its end.
    exhausted: false,
    truncated: best.candidates.length < request.k,
    stats: { parsed: 0, considered: replies.length, millis },
  };
}

/** Time limit of other calls than generation, ms: the first one after a start compiles. */
const controlMs = 60_000;

/** The engine; it need not answer yet. */
export async function createVllmEngine(config: VllmConfig, now: () => number, onError: (error: unknown) => void): Promise<VllmEngine> {
  const { upstream, contextTokens, digest, sleepAfterSeconds } = config;
  const adapter = config.adapter ?? undefined;
  const model = adapter?.name ?? config.model;
  const control = new VllmControl({ origin: upstream, timeoutMs: controlMs });
  const idleMs = (sleepAfterSeconds ?? 0) * 1000;
  const residency = sleepAfterSeconds === null ? undefined : new Residency({ control, idleMs, timer, onError });
  const modelDigest = await codeDigest('vllm', [], `${digest ?? ''}\n${model}\n${adapter?.path ?? ''}`);
  return new VllmEngine({ control, model, adapter, contextTokens, residency, now, modelDigest });
}

function timer(millis: number, callback: () => void): () => void {
  const handle = setTimeout(callback, millis);
  handle.unref();
  return () => clearTimeout(handle);
}
