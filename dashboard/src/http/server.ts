import cookies from '@fastify/cookie';
import files from '@fastify/static';
import fastify, { type FastifyError, type FastifyInstance } from 'fastify';
import { type Clock, type Log, type Random, systemClock } from '@agentfleet/kube';
import { assertOrigin } from '../auth/credentials.ts';
import { Users } from '../auth/users.ts';
import { bounds, type DashboardConfig } from '../base/config.ts';
import { answerOf, DashboardError } from '../base/failure.ts';
import { Feeds } from '../live/feeds.ts';
import type { Context } from './context.ts';
import { pageHeaders } from './headers.ts';
import { liveRoute } from './live.ts';
import { resultRoutes } from './results.ts';
import { sessionRoutes } from './session.ts';
import { orderRoutes, taskRoutes } from './tasks.ts';

export interface ServerTools {
  readonly log: Log;
  readonly clock?: Clock;
  readonly random?: Random;
}

/** The built page, and its index for every address that the page itself resolves. */
async function pageRoutes(app: FastifyInstance, { page }: DashboardConfig): Promise<void> {
  await app.register(files, {
    root: page,
    cacheControl: false,
    preCompressed: true,
    // What the build named by its hash never changes.
    setHeaders: (reply, path) => {
      void reply.header('cache-control', path.includes('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache');
    },
  });
  app.setNotFoundHandler((request, reply) => {
    const isPage = request.method === 'GET' && !request.url.startsWith('/api/') && !request.url.startsWith('/assets/');
    if (isPage) return reply.sendFile('index.html');
    throw new DashboardError(404, 'AF_DASHBOARD_NOT_FOUND', `there is no ${request.method} ${request.url.slice(0, 200)}`);
  });
}

function guard(app: FastifyInstance, config: DashboardConfig, log: Log): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(pageHeaders);
    if (request.url.startsWith('/api/')) {
      reply.header('cache-control', 'no-store');
      assertOrigin(config, request);
    }
  });
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const { status, failure } = answerOf(error);
    if (status >= 500 && status !== 503) log.warn('a request failed', { path: request.url.split('?')[0] ?? '', error: error.message });
    return reply.code(status).headers({ 'content-type': 'application/json', 'cache-control': 'no-store' }).send(failure);
  });
}

/** The service. It has no rights of its own: every read and write is sent to the API server with the caller's credential. */
export async function createServer(
  config: DashboardConfig,
  { log, clock = systemClock, random = Math.random }: ServerTools,
): Promise<FastifyInstance> {
  const app = fastify({
    logger: false,
    bodyLimit: bounds.bodyBytes,
    requestTimeout: 60_000,
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    trustProxy: config.trustProxy,
    routerOptions: { maxParamLength: 300 },
  });
  const context: Context = { config, users: new Users(config.version, () => clock.monotonic()), feeds: new Feeds({ clock, random, log }) };
  guard(app, config, log);
  await app.register(cookies);
  app.get('/healthz', () => ({ ok: true }));
  sessionRoutes(app, context);
  liveRoute(app, context);
  taskRoutes(app, context);
  orderRoutes(app, context);
  resultRoutes(app, context);
  await pageRoutes(app, config);
  app.addHook('preClose', async () => {
    context.feeds.close();
    context.users.close();
  });
  return app;
}
