import { epochOf, sendLines, streamOf, wholeOf } from './bodies.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { follow, waitForEnd } from '../exec/index.ts';
import type { Keeper } from '../keeper/keeper.ts';
import { type Validators, sequenceOf } from './validation.ts';
import { type ExecWaited, type StdinTaken, egressUpgrade, execBounds } from '@agentfleet/protocol/keeper';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { KeeperError, asKeeperError } from '../base/failure.ts';
import { errorFields } from '@agentfleet/protocol/log';

/** Room for the largest request that the link can carry, escaped. */
const bodyLimit = 8 * 1024 * 1024;

interface ById {
  readonly Params: { readonly execId: string };
}

/** Commands: start or replay, follow, cancel. */
export function execRoutes(app: FastifyInstance, keeper: Keeper, validators: Validators): void {
  const { executor, clock, spills } = keeper.parts;

  app.post('/exec', { bodyLimit }, async (request, reply) => {
    const source = await executor.start(validators.exec(request.body), request.epoch);
    return sendLines(reply, (signal) => follow(source, { from: 1, clock, signal }));
  });

  app.get<ById>('/exec/:execId', async (request, reply) => {
    const from = sequenceOf(request.query);
    const source = await executor.find(request.params.execId);
    return sendLines(reply, (signal) => follow(source, { from, clock, signal }));
  });

  app.get<ById>('/exec/:execId/output', async (request, reply) => {
    const { stream, offset, bytes } = validators.output(request.query);
    const { execId } = request.params;
    await executor.find(execId); // an id that is none never becomes a path
    const output = await spills.read(execId, stream, Number(offset ?? 0), Number(bytes ?? Number.MAX_SAFE_INTEGER));
    return reply.type('application/octet-stream').header('content-length', output.bytes).send(output.content);
  });

  app.delete<ById>('/exec/:execId', async (request, reply) => {
    await executor.cancel(request.params.execId);
    return reply.code(202).send({ execId: request.params.execId });
  });
}

/** Commands while they run: wait for the end, write to, resize, interrupt. */
export function liveRoutes(app: FastifyInstance, keeper: Keeper, validators: Validators): void {
  const { executor, clock } = keeper.parts;

  app.get<ById>('/exec/:execId/wait', async (request, reply): Promise<ExecWaited> => {
    const { seconds } = validators.wait(request.query);
    const { execId } = request.params;
    const left = new AbortController();
    reply.raw.once('close', () => left.abort());
    const ms = Math.min(Number(seconds ?? execBounds.maxWaitSeconds), execBounds.maxWaitSeconds) * 1000;
    return { execId, end: await waitForEnd(await executor.find(execId), ms, { clock, signal: left.signal }) };
  });

  app.post<ById>('/exec/:execId/stdin', { bodyLimit: execBounds.stdinBytes }, (request) => write(keeper, request, validators));

  app.post<ById>('/exec/:execId/resize', async (request, reply) => {
    const { rows, columns } = validators.terminal(request.body);
    (await executor.runningCommand(request.params.execId))?.resize(rows, columns);
    return reply.code(202).send({ execId: request.params.execId });
  });

  app.post<ById>('/exec/:execId/interrupt', async (request, reply) => {
    (await executor.runningCommand(request.params.execId))?.interrupt();
    return reply.code(202).send({ execId: request.params.execId });
  });
}

async function write(keeper: Keeper, request: FastifyRequest<ById>, validators: Validators): Promise<StdinTaken> {
  const { seq, eof } = validators.stdin(request.query);
  const bytes = await wholeOf(streamOf(request, 'application/octet-stream'), execBounds.stdinBytes);
  return keeper.parts.executor.write(request.params.execId, { seq: Number(seq), bytes, eof: eof === 'true' });
}

/** Turns `POST /v1/egress` into tunnels. The framework has no upgrades, so all of them arrive here. */
export function egressUpgrades(server: Server, keeper: Keeper): void {
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => undefined); // the caller is gone
    upgrade(keeper, request, socket, head).catch((error: unknown) => refuse(keeper, socket, error));
  });
}

async function upgrade(keeper: Keeper, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
  const { egress, fence } = keeper.parts;
  const path = (request.url ?? '').slice(0, 200);
  if (request.method !== 'POST' || path !== '/v1/egress') {
    throw new KeeperError('AF_NOT_FOUND', `there is no upgrade of ${request.method ?? ''} ${path}`);
  }
  if (request.headers.upgrade !== egressUpgrade) throw new KeeperError('AF_INVALID', `the upgrade is not ${egressUpgrade}`);
  await keeper.authenticate(request.headers.authorization);
  const epoch = await keeper.admit(epochOf(request));
  if (head.length > 0) throw new KeeperError('AF_INVALID', 'bytes came before the answer; wait for it');
  await egress.admit();
  fence.assert(epoch);
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${egressUpgrade}\r\n\r\n`);
  egress.park(socket, epoch);
}

function refuse(keeper: Keeper, socket: Duplex, error: unknown): void {
  const failure = asKeeperError(error);
  if (failure.code === 'AF_INTERNAL') keeper.parts.logger.error('an upgrade failed', errorFields(failure));
  const body = JSON.stringify(failure.body);
  const fields = ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`, 'connection: close'];
  socket.end(`HTTP/1.1 ${failure.status} Refused\r\n${fields.join('\r\n')}\r\n\r\n${body}`, () => void socket.destroy());
}

interface BySession {
  readonly Params: { readonly sessionId: string };
}

/** Shells that live over many commands. */
export function sessionRoutes(app: FastifyInstance, keeper: Keeper, validators: Validators): void {
  const { clock, sessions } = keeper.parts;

  app.post('/sessions', { bodyLimit }, (request) => sessions.open(validators.session(request.body), request.epoch));

  app.get('/sessions', () => ({ items: sessions.list }));

  app.post<BySession>('/sessions/:sessionId/run', { bodyLimit }, async (request, reply) => {
    const source = await sessions.run(request.params.sessionId, validators.sessionRun(request.body), request.epoch);
    return sendLines(reply, (signal) => follow(source, { from: 1, clock, signal }));
  });

  app.delete<BySession>('/sessions/:sessionId', async (request, reply) => {
    await sessions.close(request.params.sessionId);
    return reply.code(202).send({ sessionId: request.params.sessionId });
  });
}
