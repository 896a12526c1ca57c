import type { FastifyReply, FastifyRequest } from 'fastify';
import { assertWrite, authenticate, type Credential } from '../auth/credentials.ts';
import type { User, Users } from '../auth/users.ts';
import type { DashboardConfig } from '../base/config.ts';
import { DashboardError } from '../base/failure.ts';
import { isName } from '../base/resources.ts';
import type { Feeds } from '../live/feeds.ts';
import { apiResults, type ResultsSource } from '../results/source.ts';

/** Dependencies that routes share. */
export interface Context {
  readonly config: DashboardConfig;
  readonly users: Users;
  readonly feeds: Feeds;
}

/** The user who sent a request, and what they may do with it. */
export interface Caller {
  readonly credential: Credential;
  readonly user: User;
  readonly results: ResultsSource;
}

/** Finds the user; writes must come from the page. Rejects with the API server's answer to an unknown token. */
export async function callerOf({ config, users }: Context, request: FastifyRequest): Promise<Caller> {
  const credential = authenticate(config, request);
  if (request.method !== 'GET') assertWrite(config, request, credential);
  const user = await users.of(credential);
  return { credential, user, results: apiResults(user.transport) };
}

/** Name and namespace of a path. @throws DashboardError for what no object can be called */
export function placeOf(request: FastifyRequest): { readonly namespace: string; readonly name: string } {
  const { namespace, name } = request.params as Readonly<Record<string, string>>;
  if (!isName(namespace) || !isName(name))
    throw new DashboardError(
      400,
      'AF_DASHBOARD_NAME',
      'the address names no object',
      'Correct namespace and name: lower case letters, digits, - and .',
    );
  return { namespace, name };
}

/** A signal that ends with the answer, or with the connection of the browser. */
export function untilGone(reply: FastifyReply): AbortSignal {
  const abort = new AbortController();
  if (reply.raw.destroyed) abort.abort();
  else reply.raw.once('close', () => abort.abort());
  return abort.signal;
}
