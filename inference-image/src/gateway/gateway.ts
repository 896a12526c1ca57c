import type { ChatCompletion, ChatRequest } from '@agentfleet/protocol/chat';
import type { ChatEngine, GatewayModel } from '@agentfleet/protocol/gateway';
import { GatewayError } from './failure.ts';
import { GatewayMetrics } from './metrics.ts';
import type { ModelsFile } from './models.ts';
import type { Provider } from './providers/index.ts';
import { withoutSecrets } from './redact.ts';
import { withRetries, type RetryPolicy } from './retry.ts';
import { Route, type Caller } from './route.ts';
import { sumOf, usageOf } from './usage.ts';

export interface GatewayOptions {
  readonly models: ModelsFile;
  readonly providers: Readonly<Partial<Record<ChatEngine, Provider>>>;
  readonly policy: RetryPolicy;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/** What no other model mends. */
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

  /** Whether the models are known. */
  async isReady(): Promise<boolean> {
    return this.names().then(
      () => true,
      () => false,
    );
  }

  /** The answer of the model, or of its fallback. @throws GatewayError, or the reason of the caller's signal */
  async complete(request: ChatRequest, caller: Caller): Promise<ChatCompletion> {
    const body = { ...request, messages: withoutSecrets(request.messages, (kind) => this.metrics.redactions.inc({ kind })) };
    return this.#withFallbacks(request.model, caller.signal, async (route) => {
      const answer = await this.#several(route, body, caller);
      const { name, price } = route.model;
      this.metrics.used(name, price, caller.task, answer.usage);
      return { ...answer, model: name };
    });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#routes.values()].map((route) => route.close()));
  }

  async #withFallbacks<T>(name: string, signal: AbortSignal, ask: (route: Route) => Promise<T>): Promise<T> {
    const models = await this.#options.models.current();
    const asked = models.get(name);
    if (asked === undefined)
      throw new GatewayError('ModelUnknown', `there is no model ${name.slice(0, 80)}: the pool has ${[...models.keys()].join(', ')}`);
    const failures: GatewayError[] = [];
    const seen = new Set<string>();
    for (let model: GatewayModel | undefined = asked; model !== undefined && !seen.has(model.name);) {
      seen.add(model.name);
      try {
        return await ask(this.#routeOf(model));
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

  #routeOf(model: GatewayModel): Route {
    const route = this.#routes.get(model.name) ?? new Route(model, this.#options.now);
    this.#routes.set(model.name, route);
    route.model = model;
    return route;
  }

  /** As many choices as were asked for, also from a provider that gives one at a time. */
  async #several(route: Route, body: ChatRequest, caller: Caller): Promise<Metered> {
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
  async #together(route: Route, body: ChatRequest, caller: Caller): Promise<Metered | null> {
    try {
      return await this.#retried(route, body, caller);
    } catch (error) {
      if (error instanceof GatewayError && error.code === 'ProviderRefused') return null;
      throw error;
    }
  }

  async #retried(route: Route, body: ChatRequest, caller: Caller): Promise<Metered> {
    const { policy, random } = this.#options;
    const onRetry = ({ code }: GatewayError): void => this.metrics.retries.inc({ model: route.model.name, code });
    return withRetries(() => this.#once(route, body, caller), { policy, random, signal: caller.signal, onRetry });
  }

  async #once(route: Route, body: ChatRequest, caller: Caller): Promise<Metered> {
    const attempt = await route.begin(body, caller);
    try {
      const answer = await this.#providerOf(route).complete(attempt.ask);
      attempt.done();
      return { ...answer, usage: usageOf(body, answer) };
    } catch (error) {
      throw attempt.fail(error);
    }
  }

  #providerOf({ model }: Route): Provider {
    const provider = this.#options.providers[model.engine];
    if (provider === undefined) throw new GatewayError('ModelUnknown', `${model.name}: this gateway has no engine ${model.engine}`);
    return provider;
  }
}

type Metered = ChatCompletion & { readonly usage: NonNullable<ChatCompletion['usage']> };

/** The failure of the last model that was asked, with those before it. */
function allOf(failures: readonly GatewayError[]): GatewayError {
  const last = failures.at(-1);
  if (last === undefined || failures.length === 1) return last ?? new GatewayError('ModelUnknown', 'there is no model to ask');
  const { code, retryAfterMs } = last;
  const retryable = failures.some((failure) => failure.retryable);
  return new GatewayError(code, failures.map(({ message }) => message).join('; then '), { retryable, retryAfterMs });
}
