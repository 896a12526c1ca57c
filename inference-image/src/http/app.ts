import { observe, scrape } from '@agentfleet/protocol/tracing/scrape';
import { fastify, type FastifyError, type FastifyInstance, type FastifyReply } from 'fastify';
import type { Capability, InferenceInfo } from '@agentfleet/protocol/inference';
import { type Gate, TokenRefused, type AccessKind } from '@agentfleet/protocol/tokens';
import { capabilityModules, type CapabilityModule } from '../capabilities/index.ts';
import { asInferenceError, InferenceError } from '../base/failure.ts';
import type { Server } from '../capabilities/server.ts';
import { errorFields } from '@agentfleet/protocol/log';
import { traceRequests } from '../base/traced.ts';

/** For the kubelet, which has no token; they only report success or failure. */
const probes: ReadonlySet<string> = new Set(['/healthz', '/readyz']);
const reads: ReadonlySet<string> = new Set(['/metrics', '/v1/info']);

/** Returns the required token for a request; null: none. An unknown path requires one too. */
function kindOf(method: string, route: string | undefined): AccessKind | null {
  if (method !== 'GET' || route === undefined) return 'Work';
  if (probes.has(route)) return null;
  return reads.has(route) ? 'Read' : 'Work';
}

/** Puts a gate in front of all routes of an app, before a body is read. Refusals are InferenceErrors. */
export function guard(app: FastifyInstance, gate: Gate): void {
  app.addHook('onRequest', async ({ method, headers, routeOptions }) => {
    const kind = kindOf(method, routeOptions.url);
    if (kind === null) return;
    try {
      await gate(headers.authorization, kind);
    } catch (error) {
      if (!(error instanceof TokenRefused)) throw error;
      throw new InferenceError(error.status === 403 ? 'AF_FORBIDDEN' : 'AF_UNAUTHENTICATED', `token refused: ${error.message}`);
    }
  });
}

const bodyLimit = 32 * 1024 * 1024;
const requestTimeoutMs = 120_000;

/** Creates the HTTP API behind a gate. Not listening yet. */
export function createApp(server: Server, gate: Gate): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit,
    requestTimeout: requestTimeoutMs,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    frameworkErrors: (error, _request, reply) => answer(server, reply, error),
  });
  guard(app, gate);
  traceRequests(app, 'Header');
  app.setErrorHandler((error: FastifyError, _request, reply) => answer(server, reply, error));
  app.setNotFoundHandler((request, reply) => {
    answer(server, reply, new InferenceError('AF_NOT_FOUND', `there is no ${request.method} ${request.url.slice(0, 200)}`));
  });
  for (const module of capabilityModules) capabilityRoute(app, server, module);
  stateRoutes(app, server);
  return app;
}

/** Adds a route of the contract; a server without the capability answers with a refusal. */
function capabilityRoute(app: FastifyInstance, server: Server, { name, route }: CapabilityModule): void {
  const { metrics, now, services, info } = server;
  const service = services.get(name);
  app.post(route, async (request, reply) => {
    const started = now();
    try {
      if (service === undefined) throw unsupported(name, info);
      const response = await service.answer(request.body, leaving(reply));
      metrics.requests.inc({ capability: name, code: 'ok' });
      return response;
    } catch (error) {
      const failure = asInferenceError(error);
      metrics.requests.inc({ capability: name, code: failure.code });
      const after = failure.code === 'AF_QUEUE_FULL' ? service?.queue.retryAfterSeconds : failure.retryAfterSeconds;
      if (after !== undefined) reply.header('retry-after', after);
      throw failure;
    } finally {
      observe(metrics.seconds, { capability: name }, (now() - started) / 1000);
    }
  });
}

function unsupported(name: Capability, { engine, roles, capabilities }: InferenceInfo): InferenceError {
  const message = `${engine} as ${roles.join(', ')} answers ${capabilities.join(', ')}, not ${name}`;
  return new InferenceError('AF_CAPABILITY_UNSUPPORTED', message);
}

function leaving(reply: FastifyReply): AbortSignal {
  const left = new AbortController();
  reply.raw.once('close', () => left.abort());
  return left.signal;
}

function stateRoutes(app: FastifyInstance, server: Server): void {
  let reported: string | null = null;
  app.get('/v1/info', () => {
    const memory = server.memory();
    return memory === undefined ? server.info : { ...server.info, memory };
  });

  app.get('/healthz', () => ({ ok: true }));

  app.get('/readyz', async (_request, reply) => {
    const reason = await server.readiness.check();
    // The caller gets no reason: it is in the log, once for each change.
    if (reason !== reported) server.logger[reason === null ? 'info' : 'warn'](reason ?? 'ready');
    reported = reason;
    return reply.code(reason === null ? 200 : 503).send({ ready: reason === null });
  });

  app.get('/metrics', async ({ headers: { accept } }, reply) => {
    const { type, text } = await scrape(server.metrics.registry, accept);
    return reply.type(type).send(text);
  });
}

function answer(server: Server, reply: FastifyReply, error: unknown): void {
  const failure = fromFastify(error) ?? asInferenceError(error);
  if (failure.code === 'AF_INTERNAL') server.logger.error('a request failed', errorFields(failure));
  void reply.code(failure.status).type('application/json').send(failure.body);
}

/** Maps the framework's refusals (size, syntax, media type) to an InferenceError. */
function fromFastify(error: unknown): InferenceError | null {
  if (!(error instanceof Error) || error instanceof InferenceError) return null;
  if (!('statusCode' in error) || typeof error.statusCode !== 'number' || error.statusCode >= 500) return null;
  return new InferenceError(error.statusCode === 413 ? 'AF_TOO_LARGE' : 'AF_INVALID', error.message, { cause: error });
}
