import type { FastifyInstance } from 'fastify';
import { follow } from '../exec/index.ts';
import type { Keeper } from '../keeper.ts';
import { sendLines } from './stream.ts';
import { sequenceOf, type Validators } from './validation.ts';

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
