import { ServedRequest, spanHeader, spanToHeader, type SpanSink } from '@agentfleet/protocol/tracing';
import type { FastifyInstance } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    /** Its trace and the ids of its task. */
    served: ServedRequest | null;
  }
}

/**
 * Adds the ids of the task to the logs of requests, and a span of each request for work. The span goes to the sink, or
 * into a header of the answer, because experts may only reach their callers.
 */
export function traceRequests(app: FastifyInstance, sink: SpanSink | 'Header', now: () => number = Date.now): void {
  app.decorateRequest('served', null);
  app.addHook('onRequest', (request, _reply, done) => {
    request.served = sink === 'Header' ? new ServedRequest(request.headers, now) : new ServedRequest(request.headers, sink.now, sink);
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
