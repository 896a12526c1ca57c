import { fastify, type FastifyInstance } from 'fastify';
import type { Gate } from '@agentfleet/protocol/tokens';
import { answerRefusals, guard } from '../http/guard.ts';
import type { Supervisor } from './supervisor.ts';

/** Servers that do not answer in this time are not ready, ms. Probes wait a little longer. */
const answerMs = 2_000;

/** What the supervisor tells over HTTP; requests for engines go to the ports of their servers. Not listening yet. */
export function createSupervisorApp(supervisor: Supervisor, gate: Gate): FastifyInstance {
  const app = fastify({ logger: false, forceCloseConnections: true, exposeHeadRoutes: false });
  guard(app, gate);
  answerRefusals(app);
  const children = async () => ({ children: await supervisor.states(AbortSignal.timeout(answerMs)) });
  app.get('/livez', () => ({ ok: true }));
  app.get('/readyz', async (_request, reply) => {
    const ready = !supervisor.isStopping && (await children()).children.every((child) => child.ready);
    return reply.code(ready ? 200 : 503).send({ ready });
  });
  app.get('/v1/children', children);
  // Where every server of ours says what it is.
  app.get('/v1/info', children);
  return app;
}
