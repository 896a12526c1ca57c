import type { FastifyInstance } from 'fastify';
import { listFiles, readLines, searchFiles } from '../files/index.ts';
import type { Keeper } from '../keeper.ts';
import type { Validators } from './validation.ts';

/** What stands in the roots: lists, lines, search. Shares the gate, so that nothing changes meanwhile. */
export function lookRoutes(app: FastifyInstance, keeper: Keeper, validators: Validators): void {
  const { clock, gate } = keeper.parts;

  app.get('/files/list', (request) => {
    const query = validators.list(request.query);
    const release = gate.shared({ kind: 'file list', name: query.path });
    return listFiles(keeper.roots, query).finally(release);
  });

  app.get('/files/lines', (request) => {
    const query = validators.lines(request.query);
    const release = gate.shared({ kind: 'file transfer', name: query.path });
    return readLines(keeper.roots, query).finally(release);
  });

  app.get('/files/search', (request, reply) => {
    const query = validators.search(request.query);
    const left = new AbortController();
    reply.raw.once('close', () => left.abort());
    const release = gate.shared({ kind: 'search', name: query.path });
    return searchFiles(keeper.roots, query, { clock, signal: left.signal }).finally(release);
  });
}
