import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { asError } from '@agentfleet/kube';
import type { HarnessApi } from '@agentfleet/protocol/api';
import { chatRoutes } from '@agentfleet/protocol/chat';
import { egressPort, mcpPath } from '@agentfleet/protocol/keeper';
import { coded } from '@agentfleet/protocol/log';
import { Serial } from '@agentfleet/protocol/serial';
import type { Scope } from '../../attempt/scope.ts';
import { AttemptFailure } from '../../base/failure.ts';
import type { ServeOwn } from '../../egress/index.ts';
import { budgetOf } from '../../loop/budget.ts';
import { readTranscript } from '../../loop/charges.ts';
import type { ChatExpert } from '../../loop/conversation.ts';
import type { ChatModels } from '../../models/models.ts';
import { programApis, type ProgramApi } from './apis.ts';
import { actBounds, Bodies, modelBounds } from './bodies.ts';
import { Ledger } from './ledger.ts';
import { idleMs, modelList, objectOf, relay, Refusal, type Exchange } from './relay.ts';

export interface ModelEndpointOptions {
  readonly scope: Pick<Scope, 'context' | 'session' | 'meter'>;
  readonly models: ChatModels;
  /** The answering expert, whatever model a program names. */
  readonly expert: ChatExpert;
  readonly api: Exclude<HarnessApi, 'None'>;
  /** Answers at `mcpPath`, where the program acts by tools. */
  readonly acts?: Acts;
}

/** MCP requests, whose keys were checked. */
interface Acts {
  /** Whether a call is done or waits for its turn. */
  readonly busy: boolean;
  serve(exchange: Exchange, body: unknown): Promise<void>;
}

/**
 * Opens the endpoint of one attempt; charges of an earlier worker of the attempt, and unreported ones of earlier
 * attempts, are read from the event log.
 *
 * @throws AttemptFailure InvalidInput PriceMissing, Infrastructure GatewayMissing
 */
export async function serveModelEndpoint(options: ModelEndpointOptions): Promise<ModelEndpoint> {
  const { scope, expert } = options;
  const transcript = await readTranscript(scope);
  const ledger = new Ledger(scope, transcript, budgetOf(scope, expert, transcript.charges));
  return new ModelEndpoint(options, ledger);
}

/** Access of a program inside the sandbox to its model. */
export class ModelEndpoint {
  /** `http://127.0.0.1:<port>`, without a path. */
  readonly url = `http://127.0.0.1:${egressPort}`;
  /** It opens nothing else, and nothing once the endpoint is closed. Some programs look at the beginning of a key. */
  readonly key = `sk-agentfleet-${randomBytes(24).toString('hex')}`;
  /** Variables by which libraries of the API find it. */
  readonly environment: Readonly<Record<string, string>>;
  readonly #options: ModelEndpointOptions;
  readonly #api: ProgramApi;
  readonly #ledger: Ledger;
  readonly #server: Server;
  readonly #ending = new AbortController();
  readonly #tunnels = new Set<Duplex>();
  readonly #open = new Set<Promise<void>>();
  /** One after the other: a budget has one reservation. */
  readonly #turn = new Serial();
  readonly #bodies: Readonly<Record<'model' | 'acts', Bodies>>;
  #failure: AttemptFailure | null = null;
  /** Time at which the last request arrived or ended, by the monotonic clock, ms; null: none did. */
  lastAt: number | null = null;

  constructor(options: ModelEndpointOptions, ledger: Ledger) {
    this.#options = options;
    this.#api = programApis[options.api];
    this.#ledger = ledger;
    const { clock } = options.scope.context;
    this.#bodies = { model: new Bodies(modelBounds, clock), acts: new Bodies(actBounds, clock) };
    this.environment = this.#api.environment(this.url, this.key);
    this.#server = createServer({ keepAliveTimeout: idleMs, requestTimeout: 0 }, (request, response) => {
      const open = this.#answer(request, response).finally(() => this.#open.delete(open));
      this.#open.add(open);
    });
  }

  /** For `own` of the program's command. */
  readonly own: ServeOwn = async (tunnel) => {
    if (this.#ending.signal.aborted) return;
    const ended = new Promise<void>((resolve) => void tunnel.once('close', () => resolve()));
    this.#tunnels.add(tunnel);
    this.#server.emit('connection', tunnel);
    // Its head was read, and it was paused for that.
    tunnel.resume();
    await ended;
    this.#tunnels.delete(tunnel);
  };

  /** Whether a request is at the model or a call is done: half a request is no work. */
  get busy(): boolean {
    return this.#turn.busy || this.#options.acts?.busy === true;
  }

  /** Failure with which the model answers no more: the budget is spent, or its last request failed; null: it answers. */
  get failure(): AttemptFailure | null {
    return this.#failure;
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    await Promise.all(this.#open);
  }

  /** Ends all requests. Unanswered ones are charged as reserved. */
  async close(): Promise<void> {
    this.#ending.abort();
    for (const tunnel of this.#tunnels) tunnel.destroy();
    await Promise.all(this.#open);
  }

  /** Never rejects. */
  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#touch();
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    response.on('error', () => undefined); // its close event reports it
    const signal = AbortSignal.any([gone.signal, this.#ending.signal, this.#options.scope.context.signal]);
    try {
      await this.#route(request, response, signal);
    } catch (error) {
      this.#refuse(response, error);
    } finally {
      this.#touch();
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
    const { path, free } = this.#api;
    const { headers, method = '', url = '' } = request;
    const [route = ''] = url.split('?');
    if (this.key !== headers['x-api-key'] && `Bearer ${this.key}` !== headers.authorization)
      throw new Refusal(401, 'KeyRefused', 'the key is not the one that the program was given; use that of its environment');
    const { expert, acts } = this.#options;
    const exchange = { request, response, signal };
    if (acts !== undefined && route === mcpPath) {
      if (method === 'GET') return acts.serve(exchange, undefined);
      if (method === 'POST') return this.#bodies.acts.hold(exchange, (body) => acts.serve(exchange, objectOf(body)));
    }
    if (method === 'GET' && route === chatRoutes.models) return sendJson(response, 200, modelList(expert.name));
    if (method !== 'POST' || ![path, ...free].includes(route)) {
      const served = [path, ...free].map((one) => `POST ${one}`).join(', ');
      const more = acts === undefined ? '' : `, ${mcpPath}`;
      const message = `there is no ${method} ${route.slice(0, 200)}: there is ${served}, GET ${chatRoutes.models}${more}; see harness.api`;
      throw new Refusal(404, 'NotServed', message);
    }
    await this.#bodies.model.hold(exchange, (body) => this.#turn.run(() => this.#relay(exchange, route, body)));
  }

  async #relay(exchange: Exchange, path: string, body: Buffer): Promise<void> {
    exchange.signal.throwIfAborted();
    const isFree = this.#api.free.includes(path);
    const asking = { ...this.#options, api: this.#api, path, ledger: isFree ? null : this.#ledger };
    await relay(asking, exchange, body);
    if (!isFree) this.#failure = null;
  }

  #touch(): void {
    this.lastAt = this.#options.scope.context.clock.monotonic();
  }

  #refuse(response: ServerResponse, error: unknown): void {
    // The caller disconnected.
    if (response.destroyed && !(error instanceof Refusal || error instanceof AttemptFailure)) return;
    const refusal = refusalOf(error);
    if (refusal.failure !== null) this.#failure = refusal.failure;
    if (!(error instanceof Refusal || error instanceof AttemptFailure))
      this.#options.scope.context.log.error(
        'a request of an agent program failed',
        coded('AF_PROGRAM_REQUEST', { error: asError(error).message }),
      );
    const { status, code, message } = refusal;
    if (response.destroyed) return;
    if (response.headersSent) {
      // An end would make half an answer a whole one.
      if (!response.writableEnded) response.destroy();
      return;
    }
    for (const [name, value] of Object.entries(refusal.headers)) response.setHeader(name, value);
    sendJson(response, status, refusal.body ?? this.#api.refusal(status, code, message));
  }
}

/** Any thrown value as a refusal. A spent budget is 403: libraries ask again after 429. */
function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const headers = { 'x-should-retry': 'false' };
  if (!(error instanceof AttemptFailure))
    return new Refusal(500, 'Internal', 'the endpoint failed on this request: the log of the worker says why', { headers });
  const isSpent = error.failureClass === 'BudgetExceeded';
  if (isSpent) return new Refusal(403, error.reason, error.message, { headers, failure: error });
  // The model is unavailable for a while: a retry may get an answer.
  const status = error.failureClass === 'Infrastructure' ? 503 : 400;
  return new Refusal(status, error.reason, error.message, { failure: error });
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
