import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import { AttemptFailure } from '../base/failure.ts';
import type { Dispatcher } from 'undici';
import { asError, Backoff, deadline, sleep, type Clock, type Log, type Random } from '@agentfleet/kube';
import { generateBounds, routes, type GenerateRequest, type GenerateResponse } from '@agentfleet/protocol/inference';
import type { Bearer } from '@agentfleet/protocol/tokens';
import type { Experts } from '../attempt/ports.ts';
import { answerReader, PartsClient } from './parts.ts';
import { post } from './post.ts';
import { refusalOf } from './refusal.ts';

/**
 * Rates how well an expert fits a domain; null: not at all. The distances are small compared to a planner's weights,
 * and large enough that equal weights select a Specialist of the domain, then one for everything, then the Generalist.
 */
function fit({ role, domains, chat }: ExpertEndpoint, domain: string): number | null {
  // A chat model is asked by the tool loop: it makes no proposals.
  if (chat !== undefined) return null;
  const named = domains.includes(domain);
  if (role === 'Specialist') return named ? 1 : domains.includes('*') ? 0.8 : null;
  if (role === 'Generalist') return named ? 0.6 : 0.5;
  return null;
}

/**
 * The expert for a domain: the best product of how well it fits and the planner's weight.
 *
 * @param weights by name, from the control vector; absent, or a name without one: all alike
 */
export function chooseExpert(
  experts: readonly ExpertEndpoint[],
  domain: string,
  weights: Readonly<Record<string, number>> = {},
): ExpertEndpoint {
  let chosen: { readonly expert: ExpertEndpoint; readonly worth: number } | undefined;
  for (const expert of experts) {
    const fits = fit(expert, domain);
    if (fits === null) continue;
    const worth = fits * (weights[expert.name] ?? 1 / experts.length);
    if (chosen === undefined || worth > chosen.worth) chosen = { expert, worth };
  }
  if (chosen !== undefined) return chosen.expert;
  const message = `no expert of the pool answers for ${domain}; give spec.experts of the pool a Generalist`;
  throw new AttemptFailure('Infrastructure', 'NoExpert', message);
}

interface ExpertsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly dispatcher?: Dispatcher;
  /** The token that they take; absent: they are asked without one. */
  readonly bearer?: Bearer | undefined;
}

/** Longest time for which requests to a busy, stopping or missing expert are retried, ms. */
const maxWaitMs = 30_000;
/** Time beside the search's own budget: the way there and back, and the queue. */
const marginMs = 15_000;
const retries = { baseMs: 250, factor: 2, capMs: 4000, jitter: 0.5, resetMs: 60_000 };

/** One try: an answer, or its failure and when to retry (undefined: not). */
type Try = { readonly answer: GenerateResponse } | { readonly failure: AttemptFailure; readonly retryMs: number | undefined };

/** Asks the experts of a pool. One instance serves all tasks; `of` binds it to the experts of a brief. */
export class ExpertsClient {
  /** Parts that do not propose: planner, verifier, policy, embedder, draft. */
  readonly parts: PartsClient;
  readonly #options: ExpertsOptions;
  readonly #read = answerReader();

  constructor(options: ExpertsOptions) {
    this.#options = options;
    this.parts = new PartsClient(options);
  }

  of(experts: readonly ExpertEndpoint[]): Experts {
    return {
      choose: (domain, weights) => chooseExpert(experts, domain, weights),
      generate: (expert, request, signal) => this.#generate(expert, request, signal),
    };
  }

  /** Rejects with the signal's reason or an AttemptFailure. */
  async #generate(expert: ExpertEndpoint, request: GenerateRequest, signal: AbortSignal): Promise<GenerateResponse> {
    const { clock, random, log } = this.#options;
    const backoff = new Backoff(retries, clock, random);
    const until = clock.monotonic() + maxWaitMs;
    for (;;) {
      signal.throwIfAborted();
      const tried = await this.#try(expert, request, signal);
      if ('answer' in tried) return tried.answer;
      signal.throwIfAborted();
      const wait = tried.retryMs === undefined ? undefined : Math.max(tried.retryMs, backoff.next());
      if (wait === undefined || clock.monotonic() + wait > until) throw tried.failure;
      log.warn('an expert is asked again', { expert: expert.name, error: tried.failure.message, waitMs: Math.round(wait) });
      await sleep(clock, wait, signal);
    }
  }

  async #try(expert: ExpertEndpoint, request: GenerateRequest, signal: AbortSignal): Promise<Try> {
    const budget = request.budgetMillis ?? generateBounds.defaultBudgetMillis;
    const limit = deadline(this.#options.clock, budget + marginMs, signal);
    try {
      return await this.#post(expert, request, limit.signal);
    } catch (error) {
      if (error instanceof AttemptFailure) return { failure: error, retryMs: undefined };
      const what = limit.expired() ? `no answer within ${budget + marginMs} ms` : asError(error).message;
      const message = `expert ${expert.name} at ${expert.url}: ${what}; check its pod`;
      return { failure: new AttemptFailure('Infrastructure', 'ExpertUnreachable', message, { cause: error }), retryMs: 0 };
    } finally {
      limit.dispose();
    }
  }

  async #post(expert: ExpertEndpoint, request: GenerateRequest, signal: AbortSignal): Promise<Try> {
    const { name, url } = expert;
    const { status, text, retryAfterMs } = await post(
      { name, url, route: routes.Generate, body: request, dispatcher: this.#options.dispatcher, bearer: this.#options.bearer },
      signal,
    );
    if (status === 200) return { answer: this.#answer(expert, request, text) };
    const { retry, failure } = refusalOf(name, status, text);
    return { failure, retryMs: retry ? retryAfterMs : undefined };
  }

  #answer(expert: ExpertEndpoint, request: GenerateRequest, text: string): GenerateResponse {
    try {
      return this.#read('Generate', text, request);
    } catch (error) {
      const message = `expert ${expert.name} answered what is no proposal: ${asError(error).message}; check its version`;
      throw new AttemptFailure('Infrastructure', 'ExpertMalformed', message, { cause: error });
    }
  }
}
