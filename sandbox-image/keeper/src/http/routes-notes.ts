import type { FastifyInstance } from 'fastify';
import { maxNoteBytes, type NoteRequest, type NoteWritten } from '@agentfleet/protocol/keeper';
import { KeeperError } from '../failure.ts';
import type { Keeper } from '../keeper.ts';
import type { Validators } from './validation.ts';

/** Room for the largest note with every character escaped. */
const bodyLimit = 6 * maxNoteBytes + 1024;
/** Whoever reads the log walks a record recursively. */
const maxDepth = 32;

/** What the worker decided, in the event log. */
export function noteRoutes(app: FastifyInstance, keeper: Keeper, validators: Validators): void {
  const { fence, log, metrics, room } = keeper.parts;

  app.post('/notes', { bodyLimit }, async (request, reply) => {
    const note = validators.note(request.body);
    assertFits(note);
    if (!(await room.ready('Note'))) throw new KeeperError('AF_STORE_FULL', 'the store has no room for a note');
    fence.assert(request.epoch);
    const { seq, hash } = await log.commit('Noted', note);
    metrics.notes.inc();
    return reply.code(201).send({ seq, hash } satisfies NoteWritten);
  });
}

function assertFits({ data }: NoteRequest): void {
  if (deeperThan(data, maxDepth)) throw new KeeperError('AF_INVALID', `data: it is nested deeper than ${maxDepth} levels`);
  const bytes = Buffer.byteLength(JSON.stringify(data));
  if (bytes > maxNoteBytes) throw new KeeperError('AF_TOO_LARGE', `data: it has ${bytes} bytes as JSON, ${maxNoteBytes} are allowed`);
}

function deeperThan(value: unknown, levels: number): boolean {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new KeeperError('AF_INVALID', 'data: a number is too large for JSON');
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => deeperThan(member, levels - 1));
}
