import { GatewayError } from './providers/gatewayError.ts';
import { createHash } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type { ChatRequest } from '@agentfleet/protocol/chat';
import type { GatewayModel } from '@agentfleet/protocol/gateway';
import { Lane } from './lane.ts';
import { readKey } from './models.ts';
import { providerFailure, type Ask } from './providers/index.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { readFile } from 'node:fs/promises';
import { rootCertificates } from 'node:tls';
import { TransformStream } from 'node:stream/web';
import { Agent, errors, fetch as undiciFetch, ProxyAgent, Response, type Dispatcher } from 'undici';

type Fetch = typeof globalThis.fetch;

/** An answer without an end is cut here. The request has its own limits of time. */
const limits = { headersTimeout: 0, bodyTimeout: 0, maxResponseSize: 64 * 1024 * 1024 } as const;

/** Transport to the provider of a model: authorities and proxy. Connections are kept between requests. */
class Transport {
  #kept: { readonly key: string; readonly dispatcher: Dispatcher } | null = null;

  /**
   * Returns a `fetch` that follows no redirect: a key is only sent to its host.
   *
   * @param onBytes called for each piece of an answer
   * @throws GatewayError when the file of the authorities cannot be read
   */
  async fetchOf({ name, caFile, proxy }: GatewayModel, onBytes: () => void): Promise<Fetch> {
    const authority = caFile === undefined ? null : await readFile(caFile, 'utf8').catch(() => null);
    if (caFile !== undefined && authority === null)
      throw new GatewayError(
        'ProviderUnreachable',
        `the authorities of ${name} cannot be read: create the ConfigMap that caBundleRef names`,
      );
    const key = JSON.stringify([authority, proxy ?? null]);
    if (this.#kept?.key !== key) {
      // Running requests end on the old connections.
      void this.#kept?.dispatcher.close();
      this.#kept = { key, dispatcher: dispatcherOf(authority, proxy) };
    }
    const { dispatcher } = this.#kept;
    return (async (url: string, init: object) =>
      observed(await undiciFetch(url, { ...init, redirect: 'manual', dispatcher }), onBytes)) as unknown as Fetch;
  }

  async close(): Promise<void> {
    await this.#kept?.dispatcher.destroy();
  }
}

/** An answer whose pieces are seen as they come. Its bound is that of the decoded bytes too: a few may stand for very many. */
function observed({ body, status, statusText, headers }: Response, onBytes: () => void): Response {
  let size = 0;
  const observing = new TransformStream<Uint8Array, Uint8Array>({
    transform: (piece, controller) => {
      onBytes();
      size += piece.length;
      if (size > limits.maxResponseSize) throw new errors.ResponseExceededMaxSizeError('the decoded answer is too large');
      controller.enqueue(piece);
    },
  });
  return new Response(body === null ? null : body.pipeThrough(observing), { status, statusText, headers });
}

function dispatcherOf(authority: string | null, proxy: string | undefined): Dispatcher {
  const tls = authority === null ? {} : { ca: [...rootCertificates, authority] };
  if (proxy === undefined) return new Agent({ ...limits, connect: tls });
  return new ProxyAgent({ uri: proxy, requestTls: tls, proxyTls: tls, ...limits });
}

/** A replica may be so many requests busier than the idlest one until its conversations go elsewhere. */
const spill = 4;
/** A replica that did not answer is asked last for so long, ms. */
const avoidMs = 10_000;

interface Replica {
  readonly url: string;
  load: number;
  failedAt: number;
}

/**
 * Replicas of one model. Requests of one conversation go to one replica, whose prefix cache has it: by rendezvous
 * hashing, so that adding or removing a replica moves few conversations. One that is much busier than others, or
 * failed, is skipped.
 */
export class Replicas {
  readonly #now: () => number;
  #all: Replica[] = [];

  /** @param now monotonic milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Sets the current replicas; the load of remaining ones is kept. */
  set urls(urls: readonly string[]) {
    this.#all = urls.map((url) => this.#all.find((one) => one.url === url) ?? { url, load: 0, failedAt: Number.NEGATIVE_INFINITY });
  }

  /** Takes a replica for a request; `done` gives it back, with whether it failed to answer. */
  take(conversation: string): { readonly url: string; readonly done: (failed: boolean) => void } {
    const sound = this.#all.filter(({ failedAt }) => this.#now() - failedAt >= avoidMs);
    const among = sound.length === 0 ? this.#all : sound;
    const least = Math.min(...among.map(({ load }) => load));
    const chosen = ranked(among, conversation).find(({ load }) => load - least < spill);
    if (chosen === undefined) throw new Error('a model has no replica');
    chosen.load += 1;
    const done = (failed: boolean): void => {
      chosen.load -= 1;
      if (failed) chosen.failedAt = this.#now();
    };
    return { url: chosen.url, done };
  }
}

/** Pure: the order in which replicas are wanted for a conversation. */
function ranked(replicas: readonly Replica[], conversation: string): readonly Replica[] {
  if (replicas.length < 2) return replicas;
  const weigh = (url: string): string => createHash('sha256').update(`${conversation}\n${url}`).digest('hex');
  return replicas
    .map((one) => ({ one, weight: weigh(one.url) }))
    .sort((a, b) => (a.weight < b.weight ? -1 : 1))
    .map(({ one }) => one);
}

/** The caller of a request. */
export interface Caller {
  /** `namespace/name` of the task, for meters. */
  readonly task: string | undefined;
  /** Requests with equal values share a prefix. */
  readonly conversation: string;
  /** Fires when the caller is gone, or the gateway stops. */
  readonly signal: AbortSignal;
}

/** An attempt under way. */
export interface Attempt {
  readonly ask: Ask;
  /** Emits `bytes` when a piece of the answer arrives, also one that yields no chunk: a ping, a comment. */
  readonly arriving: EventEmitter<{ bytes: [] }>;
  /** Ends it; returns its failure as a GatewayError, or the reason of the caller's signal. */
  readonly fail: (error: unknown) => unknown;
  readonly done: () => void;
}

/** The way to one model: its lane, its replicas, its connections. Kept while the model is in the file. */
export class Route {
  readonly lane: Lane;
  readonly #replicas: Replicas;
  readonly #transport = new Transport();
  #model: GatewayModel;

  /** @param now monotonic milliseconds */
  constructor(model: GatewayModel, now: () => number) {
    this.#model = model;
    this.lane = new Lane(model, now);
    this.#replicas = new Replicas(now);
    this.#replicas.urls = model.baseURLs ?? [''];
  }

  get model(): GatewayModel {
    return this.#model;
  }

  set model(model: GatewayModel) {
    if (this.#model === model) return;
    this.#model = model;
    this.lane.limits = model;
    this.#replicas.urls = model.baseURLs ?? [''];
  }

  /** Waits for its turn, and takes a replica, the key and the connections of one attempt. @throws GatewayError, or the signal's reason */
  async begin(body: ChatRequest, { conversation, signal }: Caller): Promise<Attempt> {
    const leave = await this.#enter(signal);
    const { url, done } = this.#replicas.take(conversation);
    const model = this.#model;
    const timeout = AbortSignal.timeout(model.timeoutSeconds * 1000);
    // A caller that does not read on would keep the place of an answer that has ended.
    timeout.addEventListener('abort', leave, { once: true });
    const over = new AbortController();
    let ended = false;
    const end = (failed: boolean): void => {
      if (ended) return;
      ended = true;
      // Whatever is left of it, as a stream in the middle, is not read any more.
      over.abort();
      done(failed);
      leave();
    };
    try {
      const arriving = new EventEmitter<{ bytes: [] }>();
      const [key, send] = await Promise.all([readKey(model), this.#transport.fetchOf(model, () => arriving.emit('bytes'))]);
      const bound = AbortSignal.any([signal, timeout, over.signal]);
      const turns = { awaited: 0 };
      const fetch = this.#counted(send, bound, turns);
      const ask: Ask = { model, url, key, fetch, body: bounded(body, model), signal: bound };
      const fail = (error: unknown): unknown => {
        if (signal.aborted) return (end(false), signal.reason);
        const failure = timeout.aborted ? (turns.awaited > 0 ? waitedTooLong(model) : tooLong(model)) : providerFailure(error, ask);
        end(failure.code === 'ProviderUnreachable' || failure.code === 'ProviderTimeout');
        return failure;
      };
      return { ask, arriving, fail, done: () => end(false) };
    } catch (error) {
      end(false);
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#transport.close();
  }

  /** Returns a `fetch` whose further requests in one attempt, as in another form that a server takes, count as requests too. */
  #counted(fetch: Fetch, signal: AbortSignal, turns: { awaited: number }): Fetch {
    let sent = 0;
    return async (...args) => {
      sent += 1;
      if (sent > 1) {
        turns.awaited += 1;
        await this.lane.again(signal);
        turns.awaited -= 1;
      }
      return fetch(...args);
    };
  }

  async #enter(signal: AbortSignal): Promise<() => void> {
    const timeout = AbortSignal.timeout(this.#model.timeoutSeconds * 1000);
    try {
      return await this.lane.enter(AbortSignal.any([signal, timeout]));
    } catch (error) {
      if (signal.aborted || !timeout.aborted) throw error;
      throw waitedTooLong(this.#model);
    }
  }
}

const waitedTooLong = ({ name }: GatewayModel): GatewayError =>
  new GatewayError('RateLimited', `${name}: the request waited too long for its turn; raise the model's limits`, { isOwn: true });

function tooLong({ name, timeoutSeconds }: GatewayModel): GatewayError {
  return new GatewayError(
    'ProviderTimeout',
    `${name}: no answer within ${timeoutSeconds} s; raise timeoutSeconds, or look at the provider`,
  );
}

function bounded(body: ChatRequest, { maxOutputTokens }: GatewayModel): Ask['body'] {
  return { ...body, max_completion_tokens: Math.min(body.max_completion_tokens ?? maxOutputTokens, maxOutputTokens) };
}

export interface RetryPolicy {
  /** Requests to the provider for one of a caller, the first included. */
  readonly attempts: number;
  readonly firstDelayMs: number;
  readonly longestDelayMs: number;
  /** A provider that asks for more patience gets none: its answer is passed on. */
  readonly longestRetryAfterMs: number;
}

export const retryPolicy: RetryPolicy = { attempts: 4, firstDelayMs: 500, longestDelayMs: 8_000, longestRetryAfterMs: 30_000 };

/** Returns the delay after the n-th failure (1, 2, …), ms; null: no retry. Pure. `random` is from 0 to below 1. */
export function delayAfter(failure: GatewayError, failures: number, random: number, policy: RetryPolicy): number | null {
  // Each timeout has cost the whole patience of the model.
  const attempts = failure.code === 'ProviderTimeout' ? Math.min(2, policy.attempts) : policy.attempts;
  if (!failure.retryable || failure.isOwn || failures >= attempts) return null;
  const { retryAfterMs } = failure;
  if (retryAfterMs !== undefined) return retryAfterMs > policy.longestRetryAfterMs ? null : retryAfterMs + random * policy.firstDelayMs;
  const most = Math.min(policy.longestDelayMs, policy.firstDelayMs * 2 ** (failures - 1));
  return most / 2 + (random * most) / 2;
}

export interface RetryOptions {
  readonly policy: RetryPolicy;
  readonly random: () => number;
  /** Fires when the caller is gone: nothing is asked any more. */
  readonly signal: AbortSignal;
  readonly onRetry: (failure: GatewayError) => void;
}

/** Asks until there is an answer, or a failure that does not pass. @throws GatewayError */
export async function withRetries<T>(ask: () => Promise<T>, { policy, random, signal, onRetry }: RetryOptions): Promise<T> {
  let isMalformed = false;
  for (let failures = 0; ;) {
    try {
      return await ask();
    } catch (thrown) {
      signal.throwIfAborted();
      if (!(thrown instanceof GatewayError)) throw thrown;
      failures += 1;
      // Providers bill answers of no use: after two of them the request is not sent again.
      const error = isMalformed && thrown.code === 'ProviderMalformed' ? thrown.with({ retryable: false }) : thrown;
      isMalformed ||= thrown.code === 'ProviderMalformed';
      const wait = delayAfter(error, failures, random(), policy);
      if (wait === null) throw error;
      onRetry(error);
      await delay(wait, undefined, { signal });
    }
  }
}
