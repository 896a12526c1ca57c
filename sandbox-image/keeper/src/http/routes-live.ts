import type { FastifyInstance, FastifyRequest } from 'fastify';
import { execBounds, type ExecWaited, type StdinTaken } from '@agentfleet/protocol/keeper';
import { waitForEnd } from '../exec/index.ts';
import type { Keeper } from '../keeper.ts';
import { streamOf, wholeOf } from './body.ts';
import type { Validators } from './validation.ts';

interface ById {
  readonly Params: { readonly execId: string };
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
