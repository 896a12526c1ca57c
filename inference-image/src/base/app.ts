import type { Registry } from 'prom-client';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type Gate, TokenRefused } from '@agentfleet/protocol/tokens';
import { ServedRequest, spanHeader, spanToHeader, type SpanSink } from '@agentfleet/protocol/tracing';
import { scrape } from '@agentfleet/protocol/tracing/scrape';

declare module 'fastify' {
  interface FastifyRequest {
    /** Its trace and the ids of its task. */
    served: ServedRequest | null;
  }
}

interface BaseOptions {
  /** Checked before a body is read, at all routes but the probes of the kubelet, which has no token. */
  readonly gate: Gate;
  /** The routes that report and do not work. */
  readonly reads: ReadonlySet<string>;
  /** The refusal of a request whose token is not taken. */
  readonly refused: (error: TokenRefused) => Error;
  readonly bodyLimit: number;
  readonly registry: Registry;
  readonly sink: SpanSink | 'Header';
  /** Sends what a thrown value becomes; without a request it is the framework's own. */
  readonly answer: (reply: FastifyReply, error: unknown, request?: FastifyRequest) => void;
}

/** For the kubelet; they only report success or failure. */
const probes: ReadonlySet<string> = new Set(['/healthz', '/readyz']);
/** Time limit for receiving a request; its answer may take longer. */
const requestTimeout = 120_000;

/** Creates a server behind a gate, with metrics, traces and the probe of its life. Not listening yet. */
export function createBaseApp({ gate, reads, refused, bodyLimit, registry, sink, answer }: BaseOptions): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit,
    requestTimeout,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    frameworkErrors: (error, _request, reply) => answer(reply, error),
  });
  guard(app, { gate, reads, refused });
  traceRequests(app, sink);
  app.setErrorHandler((error, request, reply) => answer(reply, error, request));
  app.get('/healthz', () => ({ ok: true }));
  app.get('/metrics', async ({ headers: { accept } }, reply) => {
    const { type, text } = await scrape(registry, accept);
    return reply.type(type).send(text);
  });
  return app;
}

/** A signal that fires when the caller goes away; one that has gone already sends no event. */
export function leaving({ raw }: FastifyReply): AbortSignal {
  const left = new AbortController();
  if (raw.destroyed) left.abort();
  else raw.once('close', () => left.abort());
  return left.signal;
}

function guard(app: FastifyInstance, { gate, reads, refused }: Pick<BaseOptions, 'gate' | 'reads' | 'refused'>): void {
  app.addHook('onRequest', async ({ method, headers, routeOptions: { url: route = '' } }) => {
    if (method === 'GET' && probes.has(route)) return;
    try {
      await gate(headers.authorization, method === 'GET' && reads.has(route) ? 'Read' : 'Work');
    } catch (error) {
      throw error instanceof TokenRefused ? refused(error) : error;
    }
  });
}

/**
 * Adds the ids of the task to the logs of requests, and a span of each request for work. The span goes to the sink, or
 * into a header of the answer, because experts may only reach their callers.
 */
function traceRequests(app: FastifyInstance, sink: SpanSink | 'Header'): void {
  app.decorateRequest('served', null);
  app.addHook('onRequest', (request, _reply, done) => {
    request.served = sink === 'Header' ? new ServedRequest(request.headers, Date.now) : new ServedRequest(request.headers, sink.now, sink);
    done();
  });
  app.addHook('preHandler', (request, _reply, done) => (request.served === null ? done() : request.served.run(done)));
  if (sink === 'Header') {
    app.addHook('onSend', ({ served, method, routeOptions: { url: route = '' } }, reply, payload, done) => {
      const span = method === 'POST' ? served?.finished({ method, route, status: reply.statusCode }) : undefined;
      if (span !== undefined) reply.header(spanHeader, spanToHeader(span));
      done(null, payload);
    });
    return;
  }
  app.addHook('onResponse', ({ served, method, routeOptions: { url: route = '' } }, { statusCode: status }, done) => {
    const span = method === 'POST' ? served?.finished({ method, route, status }) : undefined;
    if (span !== undefined) sink.record(span);
    done();
  });
}
