import { observe } from '@agentfleet/protocol/tracing/scrape';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Capability, InferenceInfo } from '@agentfleet/protocol/inference';
import type { Gate, TokenRefused } from '@agentfleet/protocol/tokens';
import { capabilityModules, type CapabilityModule } from '../capabilities/index.ts';
import { asInferenceError, InferenceError } from '../base/failure.ts';
import type { Server } from '../capabilities/server.ts';
import { errorFields } from '@agentfleet/protocol/log';
import { createBaseApp, leaving } from '../base/app.ts';

const bodyLimit = 32 * 1024 * 1024;
const reads: ReadonlySet<string> = new Set(['/metrics', '/v1/info']);

function refused({ status, message }: TokenRefused): InferenceError {
  return new InferenceError(status === 403 ? 'AF_FORBIDDEN' : 'AF_UNAUTHENTICATED', `token refused: ${message}`);
}

/** Creates the HTTP API behind a gate. Not listening yet. */
export function createApp(server: Server, gate: Gate): FastifyInstance {
  const { registry } = server.metrics;
  const app = createBaseApp({
    gate,
    reads,
    refused,
    bodyLimit,
    registry,
    sink: 'Header',
    answer: (reply, error) => answer(server, reply, error),
  });
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

function stateRoutes(app: FastifyInstance, server: Server): void {
  let reported: string | null = null;
  app.get('/v1/info', () => {
    const memory = server.memory();
    return memory === undefined ? server.info : { ...server.info, memory };
  });

  app.get('/readyz', async (_request, reply) => {
    const reason = await server.readiness.check();
    // The caller gets no reason: it is in the log, once for each change.
    if (reason !== reported) server.logger[reason === null ? 'info' : 'warn'](reason ?? 'ready');
    reported = reason;
    return reply.code(reason === null ? 200 : 503).send({ ready: reason === null });
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
