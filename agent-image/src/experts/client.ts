import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import { AttemptFailure } from '../base/failure.ts';
import type { Log, Random } from '@agentfleet/kube';
import type { GenerateRequest } from '@agentfleet/protocol/inference';
import type { Experts } from '../attempt/ports.ts';
import { retried } from '../base/requests.ts';
import type { Capability, Exchanges } from './answers.ts';
import { InferenceClient, type AskOptions, type Question } from './ask.ts';
import { PartsClient } from './parts.ts';

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

interface ExpertsOptions extends AskOptions {
  readonly random: Random;
  readonly log: Log;
  /** Longest time of retries while a server is busy, stopping or missing, ms; default 30 s. */
  readonly maxWaitMs?: number;
}

/** Time beside the search's own budget: the way there and back, and the queue. */
const marginMs = 15_000;

/** Asks the experts of a pool, again while they are busy. One instance serves all tasks; `of` binds it to the experts of a brief. */
export class ExpertsClient {
  /** Parts that do not propose: planner, verifier, policy, embedder, draft. */
  readonly parts: PartsClient;
  readonly #options: ExpertsOptions;
  readonly #client: InferenceClient;

  constructor(options: ExpertsOptions) {
    this.#options = options;
    this.#client = new InferenceClient(options);
    this.parts = new PartsClient(options);
  }

  of(experts: readonly ExpertEndpoint[]): Experts {
    return {
      choose: (domain, weights) => chooseExpert(experts, domain, weights),
      generate: (to, request, signal) => this.ask({ to, capability: 'Generate', request, timeoutMillis: generateMillis(request) }, signal),
    };
  }

  /** Rejects with the signal's reason or an AttemptFailure. */
  ask<C extends Capability>(question: Question<C>, signal: AbortSignal): Promise<Exchanges[C]['response']> {
    const { log, maxWaitMs = 30_000, ...pausing } = this.#options;
    const onRetry = (failure: Error, waitMs: number): void =>
      log.warn('an expert is asked again', { expert: question.to.name, error: failure.message, waitMs });
    return retried(() => this.#client.ask(question, signal), { ...pausing, maxWaitMs, signal, onRetry });
  }
}

/** Returns the time limit of an expert for proposals, ms. */
export function generateMillis({ budgetMillis }: GenerateRequest): number {
  return budgetMillis + marginMs;
}
