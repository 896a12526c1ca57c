import type { ChatRequest } from '@agentfleet/protocol/chat';
import type { GatewayModel } from '@agentfleet/protocol/gateway';
import { GatewayError } from './failure.ts';
import { Lane } from './lane.ts';
import { readKey } from './models.ts';
import { providerFailure, type Ask } from './providers/index.ts';
import { Replicas } from './replicas.ts';
import { Transport } from './transport.ts';

/** Who asks. */
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
  /** Ends it; with what it failed by, as a GatewayError, or the reason of the caller's signal. */
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
    const patience = AbortSignal.timeout(model.timeoutSeconds * 1000);
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
      const [key, fetch] = await Promise.all([readKey(model), this.#transport.fetchOf(model)]);
      const ask: Ask = { model, url, key, fetch, body: bounded(body, model), signal: AbortSignal.any([signal, patience, over.signal]) };
      const fail = (error: unknown): unknown => {
        if (signal.aborted) return (end(false), signal.reason);
        const failure = patience.aborted ? tooLong(model) : providerFailure(error, ask);
        end(failure.code === 'ProviderUnreachable' || failure.code === 'ProviderTimeout');
        return failure;
      };
      return { ask, fail, done: () => end(false) };
    } catch (error) {
      end(false);
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#transport.close();
  }

  async #enter(signal: AbortSignal): Promise<() => void> {
    const patience = AbortSignal.timeout(this.#model.timeoutSeconds * 1000);
    try {
      return await this.lane.enter(AbortSignal.any([signal, patience]));
    } catch (error) {
      if (signal.aborted || !patience.aborted) throw error;
      throw new GatewayError('RateLimited', `${this.#model.name}: the request waited too long for its turn; raise the model's limits`, {
        isOwn: true,
      });
    }
  }
}

function tooLong({ name, timeoutSeconds }: GatewayModel): GatewayError {
  return new GatewayError(
    'ProviderTimeout',
    `${name}: no answer within ${timeoutSeconds} s; raise timeoutSeconds, or look at the provider`,
  );
}

function bounded(body: ChatRequest, { maxOutputTokens }: GatewayModel): Ask['body'] {
  return { ...body, max_completion_tokens: Math.min(body.max_completion_tokens ?? maxOutputTokens, maxOutputTokens) };
}
