import type { FastifyInstance } from 'fastify';
import { TokenRefused, type AccessKind, type Gate } from '@agentfleet/protocol/tokens';
import { InferenceError } from '../base/failure.ts';

/** For the kubelet, which has no token; they only report success or failure. */
const probes: ReadonlySet<string> = new Set(['/healthz', '/livez', '/readyz']);
const reads: ReadonlySet<string> = new Set(['/metrics', '/v1/info', '/v1/children', '/v1/members']);

/** Returns the required token for a request; null: none. An unknown path requires one too. */
function kindOf(method: string, route: string | undefined): AccessKind | null {
  if (method !== 'GET' || route === undefined) return 'Work';
  if (probes.has(route)) return null;
  return reads.has(route) ? 'Read' : 'Work';
}

/** Puts a gate in front of all routes of an app, before a body is read. Refusals are InferenceErrors. */
export function guard(app: FastifyInstance, gate: Gate): void {
  app.addHook('onRequest', async ({ method, headers, routeOptions }) => {
    const kind = kindOf(method, routeOptions.url);
    if (kind === null) return;
    try {
      await gate(headers.authorization, kind);
    } catch (error) {
      if (!(error instanceof TokenRefused)) throw error;
      throw new InferenceError(error.status === 403 ? 'AF_FORBIDDEN' : 'AF_UNAUTHENTICATED', `token refused: ${error.message}`);
    }
  });
}

/** Answers refusals of an app without other errors. */
export function answerRefusals(app: FastifyInstance): void {
  app.setErrorHandler((error, _request, reply) => {
    if (!(error instanceof InferenceError)) throw error;
    return reply.code(error.status).send(error.body);
  });
}
