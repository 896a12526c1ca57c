import { asError, deadline, sleep, type Clock, type Log } from '@agentfleet/kube';
import { routes } from '@agentfleet/protocol/inference';
import type { Bearer } from '@agentfleet/protocol/tokens';
import type { Dispatcher } from 'undici';
import { Circuit } from './circuit.ts';
import { partReader, type Exchanges, type PartCapability } from './partAnswers.ts';
import { post } from './post.ts';
import { refusalOf } from './refusal.ts';

/** Where a learned part answers. */
export interface Part {
  readonly name: string;
  /** Origin, without a path. */
  readonly url: string;
}

/** What a part says, or in a few words why it says nothing. */
export type Answer<T> = { readonly answer: T } | { readonly absent: string };

export interface PartsOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly dispatcher?: Dispatcher;
  readonly bearer?: Bearer | undefined;
}

/** One question to a part. */
export interface Question<C extends PartCapability> {
  readonly capability: C;
  readonly request: Exchanges[C]['request'];
  /** For both tries together, ms. */
  readonly timeoutMillis: number;
  readonly signal: AbortSignal;
}

/** Statuses of a server that is busy, not there yet, or has no fresh keys; asked once more. */
const passing: ReadonlySet<number> = new Set([401, 429, 503]);
/** Least wait before the second try, ms. */
const betweenMs = 50;

/**
 * Asks the parts that advise: planner, verifier, embedder, policy, draft. The work goes on without any of them, so a question
 * is short: one try, another one when the server is busy, and a server that failed twice is left out for a while.
 */
export class PartsClient {
  readonly #options: PartsOptions;
  readonly #circuit: Circuit;
  readonly #read = partReader();

  constructor(options: PartsOptions) {
    this.#options = options;
    this.#circuit = new Circuit(options.clock);
  }

  /** Rejects with the signal's reason and nothing else. */
  async ask<C extends PartCapability>(part: Part, question: Question<C>): Promise<Answer<Exchanges[C]['response']>> {
    const { capability, signal, timeoutMillis } = question;
    signal.throwIfAborted();
    const key = `${part.url}${routes[capability]}`;
    const why = this.#circuit.leftOut(key);
    if (why !== null) return { absent: why };
    const limit = deadline(this.#options.clock, timeoutMillis, signal);
    try {
      const answer = await this.#tryTwice(part, question, limit.signal);
      this.#circuit.answered(key);
      return { answer };
    } catch (error) {
      signal.throwIfAborted();
      const absent = limit.expired() ? `no answer within ${timeoutMillis} ms` : asError(error).message;
      this.#circuit.failed(key, absent);
      this.#options.log.warn('a part of the fleet gave no answer', { part: part.name, capability, error: absent });
      return { absent };
    } finally {
      limit.dispose();
    }
  }

  async #tryTwice<C extends PartCapability>(
    part: Part,
    { capability, request }: Question<C>,
    signal: AbortSignal,
  ): Promise<Exchanges[C]['response']> {
    const { dispatcher, bearer } = this.#options;
    const posting = { ...part, route: routes[capability], body: request, dispatcher, bearer };
    let posted = await post(posting, signal);
    if (passing.has(posted.status)) {
      await sleep(this.#options.clock, Math.max(betweenMs, posted.retryAfterMs), signal);
      posted = await post(posting, signal);
    }
    if (posted.status !== 200) throw refusalOf(part.name, posted.status, posted.text).failure;
    return this.#read(capability, posted.text, request);
  }
}
