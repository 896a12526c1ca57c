import type { ChatCompletion, ChatRequest, WireMessage, WireUsage } from '@agentfleet/protocol/chat';
import type { RedactionKind } from '@agentfleet/protocol/keeper';
import { Redaction, type Redacting } from '@agentfleet/protocol/redact';
import type { ChatEngine, GatewayModel } from '@agentfleet/protocol/gateway';
import { beginSpan, inSpan, type Span, ask, type Attributes } from '@agentfleet/protocol/tracing';
import { GatewayError } from './providers/gatewayError.ts';
import { GatewayMetrics, partsOf } from './metrics.ts';
import type { ModelsFile } from './models.ts';
import { chunkOfChoice, usageChunk, Streamed, sumOf, usageOf, withLost, type Chunk, type Provider, type Ask } from './providers/index.ts';
import type { Recorder } from './record.ts';
import { withRetries, type RetryPolicy, Route, type Caller } from './route.ts';
import { chunksOf, openStream, type OpenStream } from './stream.ts';

/** Names of the semantic conventions where these know the provider. */
const providers: Readonly<Record<ChatEngine, string>> = { OpenAI: 'openai', Anthropic: 'anthropic', Replay: 'replay' };

/** Starts the span of one request to a provider: numbers and names, nothing of the conversation. */
function askSpan({ model, url, body }: Ask, { conversation }: Caller): { readonly name: string; readonly attributes: Attributes } {
  const asked = model.model ?? model.name;
  const host = URL.canParse(url) ? { host: new URL(url).hostname } : {};
  const facts = { provider: providers[model.engine], model: asked, conversation, ...host };
  const maxTokens = body.max_completion_tokens ?? undefined;
  return { name: ask.name(asked), attributes: { ...ask.request({ ...facts, maxTokens }), 'agentfleet.expert': model.name } };
}

function answerAttributes({ model, choices, usage }: Answered): Attributes {
  const { cached, input, output } = partsOf(usage);
  const finishReasons = choices.flatMap(({ finish_reason: reason }) => (typeof reason === 'string' ? [reason] : []));
  return ask.answer({ model, finishReasons, inputTokens: input, outputTokens: output, cachedTokens: cached });
}

type Answered = Pick<ChatCompletion, 'model' | 'choices'> & { readonly usage: WireUsage };

interface GatewayOptions {
  readonly models: ModelsFile;
  readonly providers: Readonly<Record<ChatEngine, Provider>>;
  readonly policy: RetryPolicy;
  /** Silence after which a stream is aborted, ms. */
  readonly silenceMs: number;
  readonly recorder: Recorder | null;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/** Failures that another model would repeat. */
const final: ReadonlySet<GatewayError['code']> = new Set([
  'InvalidRequest',
  'ContextExceeded',
  'RecordEnded',
  'RecordMismatch',
  'Stopping',
  'Internal',
]);

/** Answers requests: redacts, waits for the model's turn, asks, asks again, falls back, meters. */
export class Gateway {
  readonly metrics: GatewayMetrics;
  readonly #options: GatewayOptions;
  readonly #routes = new Map<string, Route>();

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.metrics = new GatewayMetrics(() => new Map([...this.#routes].map(([name, { lane }]) => [name, lane])));
  }

  /** Names of the models. @throws GatewayError before they are known */
  async names(): Promise<readonly string[]> {
    return [...(await this.#options.models.current()).keys()];
  }

  /** Reports whether the models are loaded. */
  async isReady(): Promise<boolean> {
    return this.names().then(
      () => true,
      () => false,
    );
  }

  /** The answer of the model, or of its fallback. @throws GatewayError, or the reason of the caller's signal */
  async complete(request: ChatRequest, caller: Caller): Promise<ChatCompletion> {
    const body = this.#redacted(request);
    const asking: Asking = { ...caller, lost: [] };
    const asked = this.#withFallbacks(request.model, caller.signal, async (route) => {
      const answer = { ...(await this.#several(route, body, asking)), model: route.model.name };
      await this.#settle(route, body, caller, answer);
      return { ...answer, usage: withLost(answer.usage, asking.lost) };
    });
    return asked.catch((error: unknown) => {
      throw withUsage(error, asking);
    });
  }

  /**
   * Like {@link complete}, in chunks; the last one has the usage. Nothing is retried once a part of the answer has been sent.
   * @throws GatewayError, or the reason of the caller's signal
   */
  async *stream(request: ChatRequest, caller: Caller): AsyncIterable<Chunk> {
    const body = this.#redacted(request);
    const asking: Asking = { ...caller, lost: [] };
    let span: Span | undefined;
    try {
      const opened = await this.#withFallbacks(request.model, caller.signal, (route) => this.#opened(route, body, asking));
      span = opened.span;
      yield* this.#streamed(opened, body, asking);
    } catch (error) {
      span?.fail(error);
      throw withUsage(error, asking);
    } finally {
      span?.end();
    }
  }

  async *#streamed({ route, stream, span }: Opened, body: ChatRequest, asking: Asking): AsyncIterable<Chunk> {
    const { name, model = '' } = route.model;
    const streamed = new Streamed();
    let isWhole = false;
    try {
      yield* chunksOf(stream, streamed, this.#options.silenceMs);
      isWhole = true;
    } finally {
      // One that ends in the middle, or whose caller leaves, is billed as far as it came.
      if (!isWhole) this.#lose(route, asking, usageOf(body, streamed.answer(model)));
    }
    const choices = streamed.choices(model).map((choice, index) => ({ ...choice, index }));
    const first = streamed.answer(model);
    span.set(answerAttributes({ model, choices, usage: usageOf(body, first) }));
    span.end();
    const missing = Array.from({ length: (body.n ?? 1) - choices.length }, () => this.#retried(route, { ...body, n: 1 }, asking));
    const more = (await Promise.allSettled(missing)).flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    for (const choice of more.flatMap((answer) => answer.choices.slice(0, 1))) {
      yield chunkOfChoice(name, choice, choices.length);
      choices.push({ ...choice, index: choices.length });
    }
    const usage = sumOf([usageOf(body, first), ...more.map((answer) => answer.usage)]);
    await this.#settle(route, body, asking, { model: name, choices, usage });
    yield usageChunk(name, withLost(usage, asking.lost));
  }

  /** Meters an answer of no use; the caller reads what it used in the answer after it, or in the refusal. */
  #lose({ model: { name, price } }: Route, { task, lost }: Asking, usage: WireUsage | undefined): void {
    if (usage === undefined) return;
    this.metrics.used(name, price, task, usage);
    lost.push(usage);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#routes.values()].map((route) => route.close()));
  }

  #redacted(request: ChatRequest): ChatRequest {
    return { ...request, messages: withoutSecrets(request.messages, (kind) => this.metrics.redactions.inc({ kind })) };
  }

  async #settle({ model: { name, price } }: Route, body: ChatRequest, { task, conversation }: Caller, answer: Metered): Promise<void> {
    this.metrics.used(name, price, task, answer.usage);
    await this.#options.recorder?.add(conversation, body, answer);
  }

  async #withFallbacks<T>(name: string, signal: AbortSignal, ask: (route: Route) => Promise<T>): Promise<T> {
    const models = await this.#options.models.current();
    this.#forgetAbsent(models);
    const asked = models.get(name);
    if (asked === undefined)
      throw new GatewayError('ModelUnknown', `there is no model ${name.slice(0, 80)}: the pool has ${[...models.keys()].join(', ')}`);
    const failures: GatewayError[] = [];
    const seen = new Set<string>();
    for (let model: GatewayModel | undefined = asked; model !== undefined && !seen.has(model.name);) {
      seen.add(model.name);
      try {
        return await this.metrics.ended(model.name, ask(this.#routeOf(model)));
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof GatewayError) || final.has(error.code)) throw error;
        failures.push(error);
        const next: GatewayModel | undefined = model.fallback === undefined ? undefined : models.get(model.fallback);
        if (next !== undefined && !seen.has(next.name)) this.metrics.fallbacks.inc({ model: model.name, fallback: next.name });
        model = next;
      }
    }
    throw allOf(failures);
  }

  /** Ends the connections of models that the file has no more. */
  #forgetAbsent(models: ReadonlyMap<string, GatewayModel>): void {
    for (const [name, route] of this.#routes) {
      if (models.has(name) || route.lane.underWay > 0) continue;
      this.#routes.delete(name);
      void route.close();
    }
  }

  #routeOf(model: GatewayModel): Route {
    const route = this.#routes.get(model.name) ?? new Route(model, this.#options.now);
    this.#routes.set(model.name, route);
    route.model = model;
    return route;
  }

  /** Returns as many choices as requested, also from a provider that gives one at a time. */
  async #several(route: Route, body: ChatRequest, caller: Asking): Promise<Metered> {
    const wanted = body.n ?? 1;
    const one = (): Promise<Metered> => this.#retried(route, { ...body, n: 1 }, caller);
    if (wanted === 1) return one();
    const first = this.#providerOf(route).several ? [await this.#together(route, body, caller)].filter((answer) => answer !== null) : [];
    const missing = wanted - first.reduce((sum, { choices }) => sum + choices.length, 0);
    const rest = await Promise.allSettled(Array.from({ length: Math.max(0, missing) }, one));
    const answers = [...first, ...rest.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))];
    const [whole] = answers;
    if (whole === undefined) throw rest.find((each) => each.status === 'rejected')?.reason;
    const choices = answers.flatMap((answer) => answer.choices).slice(0, wanted);
    return { ...whole, choices: choices.map((choice, index) => ({ ...choice, index })), usage: sumOf(answers.map(({ usage }) => usage)) };
  }

  /** Null where the provider refuses to give several at once. */
  async #together(route: Route, body: ChatRequest, caller: Asking): Promise<Metered | null> {
    try {
      return await this.#retried(route, body, caller);
    } catch (error) {
      if (error instanceof GatewayError && error.code === 'InvalidRequest') return null;
      throw error;
    }
  }

  #retried(route: Route, body: ChatRequest, caller: Asking): Promise<Metered> {
    return this.#repeatedly(route, caller, () => this.#once(route, body, caller));
  }

  #opened(route: Route, body: ChatRequest, caller: Asking): Promise<Opened> {
    return this.#repeatedly(route, caller, async () => {
      const attempt = await route.begin(body, caller);
      const { name, attributes } = askSpan(attempt.ask, caller);
      const span = beginSpan(name, { kind: 'Client', attributes });
      try {
        return { route, stream: await openStream(attempt, this.#providerOf(route).stream(attempt.ask)), span };
      } catch (error) {
        span.fail(error);
        span.end();
        throw error;
      }
    });
  }

  #repeatedly<T>(route: Route, asking: Asking, ask: () => Promise<T>): Promise<T> {
    const { policy, random } = this.#options;
    const onRetry = ({ code }: GatewayError): void => this.metrics.retries.inc({ model: route.model.name, code });
    const once = (): Promise<T> =>
      ask().catch((error: unknown) => {
        if (error instanceof GatewayError) this.#lose(route, asking, error.usage);
        throw error;
      });
    return withRetries(once, { policy, random, signal: asking.signal, onRetry });
  }

  async #once(route: Route, body: ChatRequest, caller: Caller): Promise<Metered> {
    const attempt = await route.begin(body, caller);
    const { name, attributes } = askSpan(attempt.ask, caller);
    return inSpan(name, { kind: 'Client', attributes }, async (span) => {
      try {
        const answer = await this.#providerOf(route).complete(attempt.ask);
        attempt.done();
        const metered = { ...answer, usage: usageOf(body, answer) };
        span.set(answerAttributes(metered));
        return metered;
      } catch (error) {
        throw attempt.fail(error);
      }
    });
  }

  #providerOf({ model }: Route): Provider {
    return this.#options.providers[model.engine];
  }
}

/** A caller's request with all that is asked for it. */
interface Asking extends Caller {
  /** Usage of answers of no use, of all models. */
  readonly lost: WireUsage[];
}

/** A failure with what was used for it, as a caller is charged. */
function withUsage(error: unknown, { lost }: Asking): unknown {
  return error instanceof GatewayError && lost.length > 0 ? error.with({ usage: sumOf(lost) }) : error;
}

interface Opened {
  readonly route: Route;
  readonly stream: OpenStream;
  /** Ends with the stream. */
  readonly span: Span;
}

type Metered = ChatCompletion & { readonly usage: NonNullable<ChatCompletion['usage']> };

/** Returns the failure of the last model asked, with those before it. Answers of no use are billed: they are not asked for again. */
function allOf(failures: readonly GatewayError[]): GatewayError {
  const last = failures.at(-1);
  if (last === undefined || failures.length === 1) return last ?? new GatewayError('ModelUnknown', 'there is no model to ask');
  const useless = failures.find(({ code }) => code === 'ProviderMalformed');
  const { code, retryAfterMs } = useless ?? last;
  const retryable = useless === undefined && failures.some((failure) => failure.retryable);
  return new GatewayError(code, failures.map(({ message }) => message).join('; then '), { retryable, retryAfterMs });
}

type Content = Exclude<WireMessage['content'], undefined>;

/** Returns messages with secrets redacted in their texts. Calls, ids and states stay: providers need them unchanged. */
function withoutSecrets(messages: readonly WireMessage[], onRedacted: (kind: RedactionKind) => void): WireMessage[] {
  const redacting = new Redaction(onRedacted).open();
  return messages.map(({ content, ...message }) => ({
    ...message,
    ...(content !== undefined && { content: contentOf(content, redacting) }),
  }));
}

function contentOf(content: Content, redacting: Redacting): Content {
  if (content === null) return null;
  if (typeof content === 'string') return redacting.text(content);
  return content.map((part) => ('text' in part && typeof part.text === 'string' ? { ...part, text: redacting.text(part.text) } : part));
}
