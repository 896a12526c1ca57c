import cookies from '@fastify/cookie';
import files from '@fastify/static';
import fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type Clock, type Log, type Random, systemClock, objectPath } from '@agentfleet/kube';
import {
  assertOrigin,
  assertFitsCookie,
  assertToken,
  authenticate,
  assertWrite,
  cookieNameOf,
  type Credential,
  credentialOf,
  csrfOf,
} from '../auth/credentials.ts';
import { Users } from '../auth/users.ts';
import { bounds, type DashboardConfig } from '../base/config.ts';
import { answerOf, DashboardError } from '../base/failure.ts';
import { Feeds } from '../live/feeds.ts';
import { type Context, callerOf, placeOf, untilGone } from './context.ts';
import { pageHeaders, fileHeaders } from './headers.ts';
import { liveRoute } from './live.ts';
import { orderRoutes, taskRoutes } from './tasks.ts';

import type { Session } from '../base/wire.ts';
import { auditOf, undoLimit, undoPlanOf, wholeOf } from '../results/source.ts';
import type { AgentTask } from '@agentfleet/protocol/api';
import { resources } from '../base/resources.ts';

function artifactOf(params: unknown): string {
  const { artifact = '' } = params as { readonly artifact?: string };
  if (artifact === '' || artifact.length > 128 || !/^[\w][\w .+@-]*$/.test(artifact))
    throw new DashboardError(400, 'AF_DASHBOARD_NAME', 'the address names no artifact', 'Take a name of the list of artifacts');
  return artifact;
}

const asFile = (reply: FastifyReply, name: string): FastifyReply =>
  reply.headers({ ...fileHeaders, 'content-type': 'application/octet-stream', 'content-disposition': `attachment; filename="${name}"` });

/** Conversation, log and artifacts of a task: read through the results API by the caller's rights. */
function resultRoutes(app: FastifyInstance, context: Context): void {
  app.get('/api/tasks/:namespace/:name/conversation', async (request, reply) => {
    const { results } = await callerOf(context, request);
    const { since = '0', follow = 'false' } = request.query as { readonly since?: string; readonly follow?: string };
    if (!/^\d{1,15}$/.test(since))
      throw new DashboardError(400, 'AF_DASHBOARD_SINCE', 'since is no number', 'Send the seq of the last line');
    const stream = await results.conversation(placeOf(request), Number(since), follow === 'true', untilGone(reply));
    return reply.headers({ ...fileHeaders, 'content-type': 'application/x-ndjson' }).send(stream);
  });

  app.get('/api/tasks/:namespace/:name/log', async (request, reply) => {
    const { results } = await callerOf(context, request);
    const place = placeOf(request);
    return asFile(reply, `${place.name}.ndjson`).send(await results.log(place, untilGone(reply)));
  });

  app.get('/api/tasks/:namespace/:name/audit', async (request, reply) => {
    const { results, user } = await callerOf(context, request);
    const place = placeOf(request);
    const task = await user.transport.request<AgentTask>({ method: 'GET', path: objectPath(resources.AgentTask, place), retry: false });
    return auditOf(results, task, place, untilGone(reply));
  });

  app.get('/api/tasks/:namespace/:name/artifacts', async (request) =>
    (await callerOf(context, request)).results.artifacts(placeOf(request)),
  );

  app.get('/api/tasks/:namespace/:name/artifacts/:artifact', async (request, reply) => {
    const { results } = await callerOf(context, request);
    const name = artifactOf(request.params);
    return asFile(reply, name).send(await results.artifact(placeOf(request), name, untilGone(reply)));
  });

  app.get('/api/tasks/:namespace/:name/text/:artifact', async (request, reply) => {
    const { results } = await callerOf(context, request);
    const stream = await results.artifact(placeOf(request), artifactOf(request.params), untilGone(reply));
    return { text: (await wholeOf(stream, bounds.patchBytes)).toString('utf8') };
  });

  app.get('/api/tasks/:namespace/:name/undo', async (request, reply) => {
    const { results } = await callerOf(context, request);
    const stream = await results.artifact(placeOf(request), 'revert.tar', untilGone(reply));
    return undoPlanOf(await wholeOf(stream, undoLimit));
  });
}

function setCookie(request: FastifyRequest, reply: FastifyReply, token: string): void {
  // Without an age: it goes with the browser, and the token has an end of its own.
  reply.setCookie(cookieNameOf(request), token, { httpOnly: true, sameSite: 'strict', secure: request.protocol === 'https', path: '/' });
}

async function sessionOf({ config, users }: Context, credential: Credential): Promise<Session> {
  const { name } = await users.known(credential);
  const { mode, readOnly, version, cluster, namespaces } = config;
  return { user: name, mode, readOnly, csrf: csrfOf(credential), namespace: namespaces[0] ?? cluster.namespace ?? 'default', version };
}

/** Login, who is logged in, logout. */
export function sessionRoutes(app: FastifyInstance, context: Context): void {
  const { config, users, feeds } = context;
  app.get('/api/session', (request) => sessionOf(context, authenticate(config, request)));
  // Needs no CSRF token: no user is logged in yet, and other origins are refused before.
  app.post('/api/session', async (request, reply) => {
    if (config.mode === 'Proxy') throw new DashboardError(409, 'AF_DASHBOARD_PROXY', 'the proxy in front logs users in', 'Log in there');
    const { token } = (request.body ?? {}) as { readonly token?: unknown };
    const text = typeof token === 'string' ? token.trim() : token;
    assertToken(text);
    assertFitsCookie(text);
    const session = await sessionOf(context, credentialOf(config, text));
    setCookie(request, reply, text);
    return session;
  });
  app.delete('/api/session', async (request, reply) => {
    const credential = authenticate(config, request);
    assertWrite({ ...config, readOnly: false }, request, credential);
    feeds.forget(credential.id);
    users.drop(credential.id);
    return reply.clearCookie(cookieNameOf(request), { path: '/' }).code(204).send();
  });
}

interface ServerTools {
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
    // Files that the build named by their hash never change.
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
