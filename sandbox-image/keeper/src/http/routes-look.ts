import type { FastifyInstance } from 'fastify';
import type { FileLines, FileList, LinesQuery, ListQuery, SearchQuery, SearchResult } from '@agentfleet/protocol/keeper';
import { listFiles, readLines, searchFiles } from '../files/index.ts';
import type { Keeper } from '../keeper.ts';
import { redacted } from './redacted.ts';
import type { Validators } from './validation.ts';

/** What stands in the roots: lists, lines, search. Shares the gate, so that nothing changes meanwhile. */
export function lookRoutes(app: FastifyInstance, keeper: Keeper, validators: Validators): void {
  app.get('/files/list', (request) => list(keeper, validators.list(request.query)));
  app.get('/files/lines', (request) => lines(keeper, validators.lines(request.query)));
  app.get('/files/search', (request, reply) => {
    const query = validators.search(request.query);
    const left = new AbortController();
    reply.raw.once('close', () => left.abort());
    return search(keeper, query, left.signal);
  });
}

export async function list(keeper: Keeper, { redaction, ...query }: ListQuery): Promise<FileList> {
  const release = keeper.parts.gate.shared({ kind: 'file list', name: query.path });
  const told = await listFiles(keeper.roots, query).finally(release);
  return redacted(keeper, { what: 'List', name: query.path, redaction }, told);
}

export async function lines(keeper: Keeper, { redaction, ...query }: LinesQuery): Promise<FileLines> {
  const release = keeper.parts.gate.reading({ kind: 'file transfer', name: query.path });
  const told = await readLines(keeper.roots, query).finally(release);
  keeper.parts.syntax.warm(query.path);
  return redacted(keeper, { what: 'Lines', name: query.path, redaction }, told);
}

/** The signal fires when nobody waits for the answer any more. */
export async function search(keeper: Keeper, { redaction, ...query }: SearchQuery, signal: AbortSignal): Promise<SearchResult> {
  const { clock, gate } = keeper.parts;
  const release = gate.reading({ kind: 'search', name: query.path });
  const told = await searchFiles(keeper.roots, query, { clock, signal }).finally(release);
  return redacted(keeper, { what: 'Search', name: query.path, redaction }, told);
}
