import type { FastifyInstance, FastifyReply } from 'fastify';
import { bounds } from '../base/config.ts';
import { DashboardError } from '../base/failure.ts';
import { auditOf, undoLimit, undoPlanOf, wholeOf } from '../results/source.ts';
import type { AgentTask } from '@agentfleet/protocol/api';
import { objectPath } from '@agentfleet/kube';
import { resources } from '../base/resources.ts';
import { callerOf, type Context, placeOf, untilGone } from './context.ts';
import { fileHeaders } from './headers.ts';

function artifactOf(params: unknown): string {
  const { artifact = '' } = params as { readonly artifact?: string };
  if (artifact === '' || artifact.length > 128 || !/^[\w][\w .+@-]*$/.test(artifact))
    throw new DashboardError(400, 'AF_DASHBOARD_NAME', 'the address names no artifact', 'Take a name of the list of artifacts');
  return artifact;
}

const asFile = (reply: FastifyReply, name: string): FastifyReply =>
  reply.headers({ ...fileHeaders, 'content-type': 'application/octet-stream', 'content-disposition': `attachment; filename="${name}"` });

/** Conversation, log and artifacts of a task: read through the results API by the caller's rights. */
export function resultRoutes(app: FastifyInstance, context: Context): void {
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
