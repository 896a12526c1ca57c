import { fastify, type FastifyError, type FastifyInstance, type FastifyReply } from 'fastify';
import { generatingRoles, type GenerateRequest, type GenerateResponse } from '@agentfleet/protocol/inference';
import { asInferenceError, InferenceError } from '../failure.ts';
import { errorFields } from '../logger.ts';
import type { Server } from '../server.ts';
import { compileGenerate } from './validation.ts';

const bodyLimit = 32 * 1024 * 1024;
const requestTimeoutMs = 120_000;

/** The HTTP API. Not listening yet. */
export function createApp(server: Server): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit,
    requestTimeout: requestTimeoutMs,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    frameworkErrors: (error, _request, reply) => answer(server, reply, error),
  });
  app.setErrorHandler((error: FastifyError, _request, reply) => answer(server, reply, error));
  app.setNotFoundHandler((request, reply) => {
    answer(server, reply, new InferenceError('AF_NOT_FOUND', `there is no ${request.method} ${request.url.slice(0, 200)}`));
  });
  generateRoute(app, server);
  stateRoutes(app, server);
  return app;
}

function generateRoute(app: FastifyInstance, server: Server): void {
  const validate = compileGenerate(generatingRoles.filter((role) => server.info.roles.includes(role)));
  const { metrics, now } = server;
  app.post('/v1/generate', async (request, reply) => {
    const started = now();
    try {
      const response = await generate(server, validate(request.body), reply);
      metrics.requests.inc({ code: 'ok' });
      metrics.candidates.inc(response.candidates.length);
      return response;
    } catch (error) {
      metrics.requests.inc({ code: asInferenceError(error).code });
      throw error;
    } finally {
      metrics.seconds.observe((now() - started) / 1000);
    }
  });
}

async function generate(server: Server, request: GenerateRequest, reply: FastifyReply): Promise<GenerateResponse> {
  const left = new AbortController();
  reply.raw.once('close', () => left.abort());
  const { engine, modelDigest } = server.info;
  const generated = await server.queue.submit(request, left.signal);
  return { requestId: request.requestId, engine, modelDigest, ...generated };
}

function stateRoutes(app: FastifyInstance, server: Server): void {
  app.get('/v1/info', () => server.info);

  app.get('/healthz', () => ({ ok: true }));

  app.get('/readyz', async (_request, reply) => {
    const reason = await server.readiness.check();
    return reply.code(reason === null ? 200 : 503).send({ ready: reason === null, reason });
  });

  app.get('/metrics', async (_request, reply) => {
    const { registry } = server.metrics;
    return reply.type(registry.contentType).send(await registry.metrics());
  });
}

function answer(server: Server, reply: FastifyReply, error: unknown): void {
  const failure = fromFastify(error) ?? asInferenceError(error);
  if (failure.code === 'AF_INTERNAL') server.logger.log('error', 'a request failed', errorFields(failure));
  if (failure.code === 'AF_QUEUE_FULL') reply.header('retry-after', server.queue.retryAfterSeconds);
  void reply.code(failure.status).type('application/json').send(failure.body);
}

/** The framework's own refusals (size, syntax, media type) as ours. */
function fromFastify(error: unknown): InferenceError | null {
  if (!(error instanceof Error) || error instanceof InferenceError) return null;
  if (!('statusCode' in error) || typeof error.statusCode !== 'number' || error.statusCode >= 500) return null;
  return new InferenceError(error.statusCode === 413 ? 'AF_TOO_LARGE' : 'AF_INVALID', error.message, { cause: error });
}
