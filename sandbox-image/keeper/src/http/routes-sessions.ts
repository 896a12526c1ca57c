import type { FastifyInstance } from 'fastify';
import { follow } from '../exec/index.ts';
import type { Keeper } from '../keeper/keeper.ts';
import { sendLines } from './redacted.ts';
import type { Validators } from './validation.ts';

interface ById {
  readonly Params: { readonly sessionId: string };
}

/** Room for the environment of a session, and for a command, escaped. */
const bodyLimit = 8 * 1024 * 1024;

/** Shells that live over many commands. */
export function sessionRoutes(app: FastifyInstance, keeper: Keeper, validators: Validators): void {
  const { clock, sessions } = keeper.parts;

  app.post('/sessions', { bodyLimit }, (request) => sessions.open(validators.session(request.body), request.epoch));

  app.get('/sessions', () => ({ items: sessions.list }));

  app.post<ById>('/sessions/:sessionId/run', { bodyLimit }, async (request, reply) => {
    const source = await sessions.run(request.params.sessionId, validators.sessionRun(request.body), request.epoch);
    return sendLines(reply, (signal) => follow(source, { from: 1, clock, signal }));
  });

  app.delete<ById>('/sessions/:sessionId', async (request, reply) => {
    await sessions.close(request.params.sessionId);
    return reply.code(202).send({ sessionId: request.params.sessionId });
  });
}
