import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { assertToken, authenticate, assertWrite, cookieName, type Credential, credentialOf, csrfOf } from '../auth/credentials.ts';
import { DashboardError } from '../base/failure.ts';
import type { Session } from '../base/wire.ts';
import type { Context } from './context.ts';

function setCookie(request: FastifyRequest, reply: FastifyReply, token: string): void {
  // Without an age: it goes with the browser, and the token has an end of its own.
  reply.setCookie(cookieName, token, { httpOnly: true, sameSite: 'strict', secure: request.protocol === 'https', path: '/' });
}

async function sessionOf({ config, users }: Context, credential: Credential): Promise<Session> {
  const { name } = await users.known(credential);
  const { mode, readOnly, version, cluster, namespaces } = config;
  return { user: name, mode, readOnly, csrf: csrfOf(credential), namespace: namespaces[0] ?? cluster.namespace ?? 'default', version };
}

/** Login, who is logged in, logout. */
export function sessionRoutes(app: FastifyInstance, context: Context): void {
  const { config, users, feeds } = context;
  app.get('/api/session', (request) => sessionOf(context, authenticate(config, request)));
  // Needs no CSRF token: no user is logged in yet, and other origins are refused before.
  app.post('/api/session', async (request, reply) => {
    if (config.mode === 'Proxy') throw new DashboardError(409, 'AF_DASHBOARD_PROXY', 'the proxy in front logs users in', 'Log in there');
    const { token } = (request.body ?? {}) as { readonly token?: unknown };
    const text = typeof token === 'string' ? token.trim() : token;
    assertToken(text);
    const session = await sessionOf(context, credentialOf(config, text));
    setCookie(request, reply, text);
    return session;
  });
  app.delete('/api/session', async (request, reply) => {
    const credential = authenticate(config, request);
    assertWrite({ ...config, readOnly: false }, request, credential);
    feeds.forget(credential.id);
    users.drop(credential.id);
    return reply.clearCookie(cookieName, { path: '/' }).code(204).send();
  });
}
