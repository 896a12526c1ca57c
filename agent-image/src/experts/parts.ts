import { deadline, sleep, type Log } from '@agentfleet/kube';
import { routes } from '@agentfleet/protocol/inference';
import { InferenceClient, type AskOptions, type Part, type Question } from './ask.ts';
import type { Exchanges, PartCapability } from './answers.ts';

/** Failures in a row after which a server is left out, and for how long, ms: a dead one costs two waits and not one per step. */
const failuresToOpen = 2;
const openMs = 10_000;
const betweenMs = 50;

/**
 * Asks the advising parts: planner, verifier, embedder, policy, draft. Work continues without them, so a question is
 * short: one try, another one when the server is busy, and a server that failed twice is skipped for a while. When the time is
 * over one call finds out: another failure leaves it out again.
 */
export class PartsClient {
  readonly #client: InferenceClient;
  readonly #options: AskOptions & { readonly log: Log };
  /** By address and route. */
  readonly #failed = new Map<string, { readonly failures: number; readonly since: number; readonly why: string }>();

  constructor(options: AskOptions & { readonly log: Log }) {
    this.#client = new InferenceClient(options);
    this.#options = options;
  }

  /** Resolves with the answer, or with why there is none, in short. `timeoutMillis` is for both tries together. Rejects only with the signal's reason. */
  async ask<C extends PartCapability>(
    to: Part,
    { signal, ...asked }: Omit<Question<C>, 'to'> & { readonly signal: AbortSignal },
  ): Promise<Exchanges[C]['response'] | string> {
    signal.throwIfAborted();
    const { clock, log } = this.#options;
    const { capability, timeoutMillis } = asked;
    const key = `${to.url}${routes[capability]}`;
    const before = this.#failed.get(key);
    if (before !== undefined && before.failures >= failuresToOpen && clock.monotonic() - before.since < openMs) return before.why;
    const question = { to, ...asked };
    using limit = deadline(clock, timeoutMillis, signal);
    let tried = await this.#client.ask(question, limit.signal);
    if ('failure' in tried && tried.retryMs !== undefined) {
      await sleep(clock, Math.max(betweenMs, tried.retryMs), limit.signal);
      if (!limit.signal.aborted) tried = await this.#client.ask(question, limit.signal);
    }
    signal.throwIfAborted();
    if ('value' in tried) {
      this.#failed.delete(key);
      return tried.value;
    }
    const why = limit.expired() ? `no answer within ${timeoutMillis} ms` : tried.why;
    this.#failed.set(key, { failures: (this.#failed.get(key)?.failures ?? 0) + 1, since: clock.monotonic(), why });
    log.warn('a part of the fleet gave no answer', { part: to.name, capability, error: why });
    return why;
  }
}
