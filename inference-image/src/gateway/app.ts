import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { chatHeaders, chatRoutes } from '@agentfleet/protocol/chat';
import type { Gate } from '@agentfleet/protocol/tokens';
import { errorFields, type Log } from '@agentfleet/protocol/log';
import { observe } from '@agentfleet/protocol/tracing/scrape';
import type { SpanSink, Tracing } from '@agentfleet/protocol/tracing';
import { createBaseApp, leaving } from '../base/app.ts';
import { chatApi, clientApis, countTokens, messagesApi, type ClientApi, type EventWriter } from './apis/index.ts';
import { GatewayError } from './providers/gatewayError.ts';
import type { Gateway } from './gateway.ts';
import type { Chunk } from './providers/index.ts';
import type { Caller } from './route.ts';

/** Enough for a long conversation with the output of its commands. */
const bodyLimit = 64 * 1024 * 1024;

interface AppOptions {
  readonly gateway: Gateway;
  readonly gate: Gate;
  readonly logger: Log;
  /** Fires when the gateway takes no more requests. */
  readonly stopping: AbortSignal;
  /** Fires when running requests must end. */
  readonly ended: AbortSignal;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Exporter of spans; absent: none are sent. */
  readonly tracing?: Tracing;
}

/** Creates the HTTP server of the model APIs behind a gate. Not listening yet. */
export function createGatewayApp(options: AppOptions): FastifyInstance {
  const { gate, tracing } = options;
  const app = createBaseApp({
    gate,
    reads,
    refused: ({ status, message }) => new GatewayError('Unauthenticated', `token refused: ${message}`, { status }),
    bodyLimit,
    registry: options.gateway.metrics.registry,
    sink: tracing?.sink ?? nowhere,
    answer: (reply, error, request) => answer(options, request === undefined ? chatApi : apiOf(request), reply, error),
  });
  app.setNotFoundHandler((request, reply) => {
    const served = Object.values(chatRoutes).join(', ');
    answer(
      options,
      chatApi,
      reply,
      new GatewayError('InvalidRequest', `there is no ${request.method} ${request.url.slice(0, 200)}: there is ${served}`),
    );
  });
  for (const api of clientApis) modelRoute(app, options, api);
  app.post(chatRoutes.countTokens, ({ body }) => countTokens(body));
  stateRoutes(app, options);
  return app;
}

/** Lines of the log have the ids of their task also where nothing is traced. */
const nowhere: SpanSink = { now: () => 0, record: () => {} };

const reads: ReadonlySet<string> = new Set(['/metrics']);

/** Returns the API whose form a refusal on a route has. */
function apiOf({ routeOptions: { url } }: FastifyRequest): ClientApi {
  return url === chatRoutes.countTokens ? messagesApi : (clientApis.find(({ path }) => path === url) ?? chatApi);
}

function modelRoute(app: FastifyInstance, options: AppOptions, api: ClientApi): void {
  const { gateway, stopping, now } = options;
  app.post(api.path, async (request, reply) => {
    const started = now();
    const body = addressed(request);
    const model = knownModel(body, await gateway.names().catch(() => []));
    let settled = false;
    const settle = (result: string): void => {
      if (settled) return;
      settled = true;
      gateway.metrics.requests.inc({ model, result });
      observe(gateway.metrics.seconds, { model }, (now() - started) / 1000);
    };
    try {
      if (stopping.aborted) throw new GatewayError('Stopping', 'the gateway is stopping: ask again, another replica answers');
      const asked = api.read(body);
      const caller = callerOf(options, request, reply);
      if (asked.chat.stream === true) return await sendStream(options, reply, gateway.stream(asked.chat, caller), asked.events(), settle);
      const response = asked.answer(await gateway.complete(asked.chat, caller));
      settle('ok');
      return response;
    } catch (error) {
      settle(resultOf(reply, error));
      throw error;
    }
  });
}

/** The body, for the expert that the caller's header names. */
function addressed({ body, headers }: FastifyRequest): unknown {
  const expert = headers[chatHeaders.expert];
  return typeof expert === 'string' && typeof body === 'object' && body !== null ? { ...body, model: expert } : body;
}

/** Sends chunks as events. A failure before the first one becomes the status, a later one the last event. */
async function sendStream(
  { logger }: AppOptions,
  reply: FastifyReply,
  chunks: AsyncIterable<Chunk>,
  writer: EventWriter,
  settle: (result: string) => void,
): Promise<FastifyReply> {
  const rest = chunks[Symbol.asyncIterator]();
  const first = await rest.next();
  async function* events(): AsyncGenerator<string> {
    try {
      for (let next = first; next.done !== true; next = await rest.next()) yield* writer.chunk(next.value);
      settle('ok');
      yield* writer.end();
    } catch (error) {
      const failure = asGatewayError(error);
      if (failure.cause !== undefined && !reply.raw.destroyed) logger.error('a stream failed', errorFields(failure));
      settle(resultOf(reply, error));
      yield* writer.fail(failure);
    }
  }
  // A body that is destroyed before it is read never enters `events`: what must happen in any case happens here.
  const body = Readable.from(events()).once('close', () => {
    settle(gone);
    rest.return?.().catch(() => undefined); // nobody is left to hear of it
  });
  return reply.header('cache-control', 'no-cache').type('text/event-stream').send(body);
}

const gone = 'CallerGone';

function resultOf({ raw }: FastifyReply, error: unknown): string {
  return raw.destroyed ? gone : asGatewayError(error).code;
}

/** Returns the label of a request: requests for unknown models must not add values. */
function knownModel(body: unknown, names: readonly string[]): string {
  const { model } = (body ?? {}) as { readonly model?: unknown };
  return names.find((name) => name === model) ?? 'unknown';
}

function callerOf({ ended }: AppOptions, { headers, id }: FastifyRequest, reply: FastifyReply): Caller {
  const text = (name: string): string | undefined => {
    const value = headers[name];
    return typeof value === 'string' && value.length <= 512 ? value : undefined;
  };
  return {
    task: text(chatHeaders.task),
    conversation: text(chatHeaders.conversation) ?? id,
    signal: AbortSignal.any([leaving(reply), ended]),
  };
}

/** A model as the lists of both vendors have it. */
const listed = { object: 'model', type: 'model', created: 0, created_at: '1970-01-01T00:00:00Z', owned_by: 'agentfleet' } as const;

function stateRoutes(app: FastifyInstance, { gateway, stopping }: AppOptions): void {
  app.get(chatRoutes.models, async () => {
    const names = await gateway.names();
    const data = names.map((id) => ({ ...listed, id, display_name: id }));
    return { object: 'list', data, first_id: names[0] ?? null, last_id: names.at(-1) ?? null, has_more: false };
  });
  app.get('/readyz', async (_request, reply) => {
    const ready = !stopping.aborted && (await gateway.isReady());
    return reply.code(ready ? 200 : 503).send({ ready });
  });
}

function answer({ logger }: AppOptions, api: ClientApi, reply: FastifyReply, error: unknown): void {
  const failure = asGatewayError(error);
  if (reply.raw.destroyed) return;
  if (failure.cause !== undefined) logger.error('a request failed', errorFields(failure));
  else logger.debug('a request was refused', { code: failure.code, error: failure.message });
  if (failure.retryAfterMs !== undefined) void reply.header('retry-after', Math.ceil(failure.retryAfterMs / 1000));
  // The vendors' libraries would ask again by the status alone, after the gateway did.
  void reply.header('x-should-retry', String(failure.retryable));
  void reply.code(failure.status).type('application/json').send(api.refusal(failure));
}

/** Any thrown value as a refusal; the unexpected gives no details. */
function asGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number' && error.statusCode < 500)
    return new GatewayError('InvalidRequest', error.message, { status: error.statusCode });
  return new GatewayError('Internal', 'the gateway failed on this request: its log says why', { cause: error });
}
