import { deadline, sleep, type Clock, type Log } from '@agentfleet/kube';
import { routes } from '@agentfleet/protocol/inference';
import { InferenceClient, type AskOptions, type Part, type Question } from './ask.ts';
import type { Exchanges, PartCapability } from './answers.ts';

/** Failures in a row after which a server is left out, and for how long, ms. */
const failuresToOpen = 2;
const openMs = 10_000;

/**
 * Leaves out servers that failed twice in a row, so that a dead one costs two waits and not one per step. When the time is
 * over one call finds out: another failure leaves it out again.
 */
class Circuit {
  readonly #clock: Clock;
  readonly #states = new Map<string, { readonly failures: number; readonly since: number; readonly why: string }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the reason why a server is left out now; null when it may be asked. */
  leftOut(key: string): string | null {
    const state = this.#states.get(key);
    if (state === undefined || state.failures < failuresToOpen) return null;
    return this.#clock.monotonic() - state.since < openMs ? state.why : null;
  }

  answered(key: string): void {
    this.#states.delete(key);
  }

  failed(key: string, why: string): void {
    this.#states.set(key, { failures: (this.#states.get(key)?.failures ?? 0) + 1, since: this.#clock.monotonic(), why });
  }
}

/** Answer of a part, or a short reason for its silence. */
type Answer<T> = { readonly answer: T } | { readonly absent: string };

const betweenMs = 50;

/**
 * Asks the advising parts: planner, verifier, embedder, policy, draft. Work continues without them, so a question is
 * short: one try, another one when the server is busy, and a server that failed twice is skipped for a while.
 */
export class PartsClient {
  readonly #client: InferenceClient;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #circuit: Circuit;

  constructor({ log, ...options }: AskOptions & { readonly log: Log }) {
    this.#client = new InferenceClient(options);
    this.#clock = options.clock;
    this.#log = log;
    this.#circuit = new Circuit(options.clock);
  }

  /** `timeoutMillis` is for both tries together. Rejects only with the signal's reason. */
  async ask<C extends PartCapability>(
    to: Part,
    { signal, ...asked }: Omit<Question<C>, 'to'> & { readonly signal: AbortSignal },
  ): Promise<Answer<Exchanges[C]['response']>> {
    signal.throwIfAborted();
    const { capability, timeoutMillis } = asked;
    const key = `${to.url}${routes[capability]}`;
    const leftOut = this.#circuit.leftOut(key);
    if (leftOut !== null) return { absent: leftOut };
    const question = { to, ...asked };
    using limit = deadline(this.#clock, timeoutMillis, signal);
    let tried = await this.#client.ask(question, limit.signal);
    if ('failure' in tried && tried.retryMs !== undefined) {
      await sleep(this.#clock, Math.max(betweenMs, tried.retryMs), limit.signal);
      if (!limit.signal.aborted) tried = await this.#client.ask(question, limit.signal);
    }
    signal.throwIfAborted();
    if ('value' in tried) {
      this.#circuit.answered(key);
      return { answer: tried.value };
    }
    const absent = limit.expired() ? `no answer within ${timeoutMillis} ms` : tried.why;
    this.#circuit.failed(key, absent);
    this.#log.warn('a part of the fleet gave no answer', { part: to.name, capability, error: absent });
    return { absent };
  }
}
