import { epochOf } from '../http/bodies.ts';
import type { IncomingMessage, Server } from 'node:http';
import { BlockList, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { type FastifyError, type FastifyInstance, type FastifyReply, fastify } from 'fastify';
import { KeeperError, asKeeperError } from '../base/failure.ts';
import type { Keeper, KeeperParts } from '../keeper/keeper.ts';
import { errorFields } from '@agentfleet/protocol/log';
import { ServedRequest } from '@agentfleet/protocol/tracing';
import { durableRoutes, snapshotRoutes } from '../http/routes-snapshots.ts';
import { editRoutes, fileRoutes, lookRoutes, treeRoutes } from '../http/routes-files.ts';
import { egressUpgrades, execRoutes, liveRoutes, sessionRoutes } from '../http/routes-exec.ts';
import { mcpRoutes } from '../mcp/routes.ts';
import { noteRoutes, openRoutes, secretRoutes, stateRoutes } from '../http/routes-state.ts';
import { compileValidators } from '../http/validation.ts';

const maxFromInside = 32;

/**
 * User code shares the pod's network and so reaches the keeper's port. It has no token, but it
 * could hold all connections: those that come from the pod itself are limited.
 */
export function limitInsideConnections(server: Server): void {
  let inside = 0;
  server.on('connection', (socket: Socket) => {
    if (!isInside(socket.remoteAddress, socket.localAddress, ownAddresses)) return;
    if (inside >= maxFromInside) {
      socket.destroy();
      return;
    }
    inside += 1;
    socket.once('close', () => {
      inside -= 1;
    });
  });
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/**
 * Reports whether both ends of a connection are in this pod. The client chooses its own address (any of 127.0.0.0/8, or
 * one of the pod's), whichever it calls. A closed socket counts as inside.
 */
export function isInside(remote: string | undefined, local: string | undefined, own: () => ReadonlySet<string>): boolean {
  if (remote === undefined || local === undefined || remote === local) return true;
  const [from, to] = [plain(remote), plain(local)];
  return isLoopback(from) || isLoopback(to) || own().has(from);
}

function isLoopback(address: string): boolean {
  return loopback.check(address, address.includes(':') ? 'ipv6' : 'ipv4');
}

/** Strips the IPv4-mapped prefix and the zone of an address. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=[\d.]+$)/i, '').replace(/%.*$/, '');
}

function ownAddresses(): ReadonlySet<string> {
  return new Set(Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address)));
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Epoch of the assignment in whose name a request acts. */
    epoch: number;
    /** Its trace and the ids of its task; null for probes. */
    served: ServedRequest | null;
  }
}

const bodyLimit = 64 * 1024;
const requestTimeoutMs = 120_000;
const keepAliveTimeoutMs = 30_000;
/** Probes of TCP find a worker that vanished behind a tunnel. */
const probes = { keepAlive: true, keepAliveInitialDelay: 30_000 } as const;

/** The HTTP API over a keeper. Not listening yet. */
export function createApp(keeper: Keeper): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    http: probes,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    return503OnClosing: true,
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    frameworkErrors: (error, _request, reply) => answer(reply, error, keeper.parts),
  });
  limitInsideConnections(app.server);
  egressUpgrades(app.server, keeper);
  app.decorateRequest('epoch', 0);
  app.decorateRequest('served', null);
  app.setErrorHandler((error: FastifyError, _request, reply) => answer(reply, error, keeper.parts));
  app.setNotFoundHandler((request, reply) => {
    answer(reply, new KeeperError('AF_NOT_FOUND', `there is no ${request.method} ${request.url.slice(0, 200)}`), keeper.parts);
  });
  openRoutes(app, keeper);
  app.register(
    (api, _options, done) => {
      protectedRoutes(api, keeper);
      done();
    },
    { prefix: '/v1' },
  );
  app.register((api, _options, done) => {
    mcpRoutes(api, keeper);
    done();
  });
  return app;
}

/** Routes validate requests with {@link compileValidators}; the framework's compilers would cost memory. */
function noSchemas(): never {
  throw new Error('a route with a schema: check its request with compileValidators instead');
}

function protectedRoutes(api: FastifyInstance, keeper: Keeper): void {
  // Before the body is read: unauthenticated callers get no memory.
  api.addHook('onRequest', async (request) => {
    await keeper.authenticate(request.headers.authorization);
    const epoch = epochOf(request);
    request.epoch = request.method === 'GET' ? keeper.parts.fence.check(epoch) : await keeper.admit(epoch);
  });
  traced(api, keeper);
  api.addContentTypeParser(['application/octet-stream', 'application/x-tar'], (_request, payload: IncomingMessage, done) =>
    done(null, payload),
  );
  const validators = compileValidators();
  stateRoutes(api, keeper);
  execRoutes(api, keeper, validators);
  liveRoutes(api, keeper, validators);
  sessionRoutes(api, keeper, validators);
  editRoutes(api, keeper, validators);
  fileRoutes(api, keeper, validators);
  treeRoutes(api, keeper, validators);
  lookRoutes(api, keeper, validators);
  noteRoutes(api, keeper, validators);
  secretRoutes(api, keeper, validators);
  snapshotRoutes(api, keeper, validators);
  durableRoutes(api, keeper, validators);
}

/** Reading and noting are many, short and in the event log: they have no span. */
const untraced: ReadonlySet<string> = new Set(['/v1/notes']);

/** Adds the task's ids to the logs of requests, and records spans of changing requests. */
function traced(api: FastifyInstance, { parts: { clock, spans } }: Keeper): void {
  api.addHook('onRequest', (request, _reply, done) => {
    request.served = new ServedRequest(request.headers, () => clock.now(), spans);
    done();
  });
  api.addHook('preHandler', (request, _reply, done) => (request.served === null ? done() : request.served.run(done)));
  api.addHook('onResponse', ({ served, method, routeOptions: { url: route = '' } }, { statusCode: status }, done) => {
    const span = method === 'GET' || untraced.has(route) ? undefined : served?.finished({ method, route, status });
    if (span !== undefined) spans.record(span);
    done();
  });
}

/** Refusals quote lines of files: they are answers, too. */
function answer(reply: FastifyReply, error: unknown, { logger, redaction }: KeeperParts): void {
  const failure = fromFastify(error) ?? asKeeperError(error);
  if (failure.code === 'AF_INTERNAL') logger.error('a request failed', errorFields(failure));
  void reply.code(failure.status).type('application/json').send(redaction.open().value(failure.body));
}

function fromFastify(error: unknown): KeeperError | null {
  if (!(error instanceof Error) || !('statusCode' in error) || typeof error.statusCode !== 'number') return null;
  if (error.statusCode >= 500) return null;
  return new KeeperError(error.statusCode === 413 ? 'AF_TOO_LARGE' : 'AF_INVALID', error.message, { cause: error });
}
