import type { FastifyInstance } from 'fastify';
import {
  type Note,
  type NoteWritten,
  type ScrubReport,
  type SecretsDeclared,
  type SecretsRequest,
  maxNoteBytes,
  secretBounds,
} from '@agentfleet/protocol/keeper';
import { KeeperError } from '../base/failure.ts';
import type { Keeper } from '../keeper/keeper.ts';
import { sendLines } from './bodies.ts';
import { type Validators, sequenceOf } from './validation.ts';

/** Routes for the keeper's state, its log, and the restart of the tools container. */
export function stateRoutes(app: FastifyInstance, keeper: Keeper): void {
  const { fence, gate, link, log, snapshots } = keeper.parts;

  app.get('/info', () => keeper.info);

  app.get('/spans', () => ({ spans: keeper.parts.spans.drain() }));

  app.get('/events', (request, reply) => {
    const from = sequenceOf(request.query);
    return sendLines(reply, (signal) => log.read(from, signal));
  });

  app.get('/audit', () => log.verify());

  app.post('/scrub', async (request, reply): Promise<ScrubReport> => {
    const left = new AbortController();
    reply.raw.once('close', () => left.abort());
    fence.assert(request.epoch);
    const report = await snapshots.scrub({ signal: left.signal });
    const { damaged, broken, ...counts } = report;
    log.append('SnapshotsScrubbed', { ...counts, broken, damaged: damaged.map(({ sha256 }) => sha256).slice(0, 100) });
    return report;
  });

  app.post('/tools/restart', async (request, reply) => {
    const release = gate.still({ kind: 'tools restart', name: '' });
    try {
      fence.assert(request.epoch);
      const { instance, connected } = link.state;
      if (!connected) throw new KeeperError('AF_TOOLS_UNAVAILABLE', 'the tools container is not connected');
      await log.commit('ToolsRestartRequested', { why: 'asked', instance });
      link.retire(0, 'it was ordered to exit');
      return reply.code(202).send({ instance });
    } finally {
      release();
    }
  });
}

/** For the kubelet and for Prometheus: no token, and no secret in the answers. */
export function openRoutes(app: FastifyInstance, keeper: Keeper): void {
  app.get('/healthz', () => ({ ok: true }));

  app.get('/readyz', (_request, reply) => {
    const no = keeper.notReady;
    return reply.code(no === null ? 200 : 503).send({ ready: no === null, reason: no?.reason ?? null });
  });

  app.get('/metrics', async (_request, reply) => {
    const { registry } = keeper.parts.metrics;
    return reply.type(registry.contentType).send(await registry.metrics());
  });
}

/** Room for the largest note with every character escaped. */
const notesBody = 6 * maxNoteBytes + 1024;
/** Readers of the log walk a record recursively. */
const maxDepth = 32;

/** Route for the worker's decisions in the event log. */
export function noteRoutes(app: FastifyInstance, keeper: Keeper, validators: Validators): void {
  const { fence, log, metrics, room } = keeper.parts;

  app.post('/notes', { bodyLimit: notesBody }, async (request, reply) => {
    const { next = [], ...first } = validators.note(request.body);
    for (const note of [first, ...next]) assertFits(note);
    if (!(await room.ready('Note'))) throw new KeeperError('AF_STORE_FULL', 'the store has no room for a note');
    fence.assert(request.epoch);
    const { seq, hash } = await log.commitAll('Noted', [first, ...next]);
    metrics.notes.inc(1 + next.length);
    return reply.code(201).send({ seq, hash } satisfies NoteWritten);
  });
}

function assertFits({ data }: Note): void {
  if (deeperThan(data, maxDepth)) throw new KeeperError('AF_INVALID', `data: it is nested deeper than ${maxDepth} levels`);
  const bytes = Buffer.byteLength(JSON.stringify(data));
  if (bytes > maxNoteBytes) throw new KeeperError('AF_TOO_LARGE', `data: it has ${bytes} bytes as JSON, ${maxNoteBytes} are allowed`);
}

function deeperThan(value: unknown, levels: number): boolean {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new KeeperError('AF_INVALID', 'data: a number is too large for JSON');
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => deeperThan(member, levels - 1));
}

const secretsBody = 2 * 6 * secretBounds.count * secretBounds.maxChars;

/** Values that no answer may show. They are kept in memory: after a restart of the keeper they are declared again. */
export function secretRoutes(app: FastifyInstance, keeper: Keeper, validators: Validators): void {
  const { fence, log, redaction } = keeper.parts;

  const declare = async (secrets: SecretsRequest['secrets'], epoch: number): Promise<SecretsDeclared> => {
    fence.assert(epoch);
    redaction.secrets.replace(secrets);
    const names = secrets.map(({ name }) => name);
    await log.commit('SecretsDeclared', { names });
    return { declared: secrets.length };
  };

  app.put('/secrets', { bodyLimit: secretsBody }, ({ body, epoch }) => declare(validators.secrets(body).secrets, epoch));
}
