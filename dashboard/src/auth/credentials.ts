import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { ClusterConfig } from '@agentfleet/kube';
import { bounds, type DashboardConfig } from '../base/config.ts';
import { DashboardError, unauthorized } from '../base/failure.ts';

/** Credential of the caller. `secret` never leaves the process but to the API server. */
export interface Credential {
  /** Hash under which watches and connections are kept. */
  readonly id: string;
  readonly secret: string;
  readonly cluster: ClusterConfig;
}

/** Browsers send a cookie to all ports of a host: each port has a name of its own, so that two dashboards do not log each other out. */
export function cookieNameOf({ port }: Pick<FastifyRequest, 'port'>): string {
  return port === null ? 'agentfleet-session' : `agentfleet-session-${port}`;
}

/** A token as RFC 6750 writes it; everything else would be a header of its own. */
const tokenForm = /^[A-Za-z0-9._~+/=-]+$/;

export function assertToken(token: unknown): asserts token is string {
  if (typeof token !== 'string' || token === '')
    throw new DashboardError(400, 'AF_DASHBOARD_TOKEN', 'the token is empty', 'Paste the token that kubectl create token prints');
  if (!tokenForm.test(token))
    throw new DashboardError(400, 'AF_DASHBOARD_TOKEN', 'the token has characters that no token has', 'Paste it without quotes and blanks');
}

/** Refuses a token that would not come back whole: browsers drop a cookie that is larger. */
export function assertFitsCookie(token: string): void {
  if (token.length > bounds.tokenBytes)
    throw new DashboardError(
      400,
      'AF_DASHBOARD_TOKEN',
      `the token has ${token.length} characters, and a cookie holds ${bounds.tokenBytes}`,
      'Use an OIDC proxy in front (auth: Proxy), or fleet dashboard',
    );
}

/** The user's own login, at the cluster of the configuration. */
function asUser({ cluster }: DashboardConfig, token: string): ClusterConfig {
  return {
    server: cluster.server,
    ...(cluster.proxy === undefined ? {} : { proxy: cluster.proxy }),
    credentials: async (force) => {
      // Of the configuration only the authority: neither its token nor its certificate may outrank the user's.
      const { tls } = await cluster.credentials(force);
      const { ca, servername, rejectUnauthorized } = tls;
      return {
        tls: {
          ...(ca === undefined ? {} : { ca }),
          ...(servername === undefined ? {} : { servername }),
          ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
        },
        authorization: `Bearer ${token}`,
      };
    },
  };
}

function sameText(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}

/** Returns the credential of a token or, in mode Kubeconfig, of the holder of the key. Does not check that the API server knows it. */
export function credentialOf(config: DashboardConfig, secret: string): Credential {
  const id = createHash('sha256').update(secret).digest('hex');
  if (config.mode !== 'Kubeconfig') return { id, secret, cluster: asUser(config, secret) };
  if (config.key === undefined || !sameText(secret, config.key))
    throw unauthorized('the key is not that of this dashboard; open the address that fleet dashboard printed');
  return { id, secret, cluster: config.cluster };
}

function bearerOf(request: FastifyRequest): string | undefined {
  const forwarded = request.headers['x-forwarded-access-token'];
  if (typeof forwarded === 'string' && forwarded !== '') return forwarded;
  return /^bearer (?<token>\S+)$/i.exec(request.headers.authorization ?? '')?.groups?.['token'];
}

/** Returns the sender's credential. Headers count with Proxy alone: elsewhere a page of another origin must not choose the user. */
export function authenticate(config: DashboardConfig, request: FastifyRequest): Credential {
  const token = config.mode === 'Proxy' ? bearerOf(request) : request.cookies[cookieNameOf(request)];
  if (token === undefined || token === '')
    throw unauthorized(config.mode === 'Proxy' ? 'the proxy in front sent no access token' : 'you are not logged in');
  assertToken(token);
  return credentialOf(config, token);
}

/** Token against forged requests: only who knows the credential, or was shown it by us, can name it. The same in every replica. */
export function csrfOf({ secret }: Credential): string {
  return createHmac('sha256', secret).update('agentfleet-dashboard-csrf').digest('base64url');
}

/** Refuses writes of read-only dashboards, of other origins, and without the token of the session. */
export function assertWrite(config: DashboardConfig, request: FastifyRequest, credential: Credential): void {
  if (config.readOnly)
    throw new DashboardError(
      403,
      'AF_DASHBOARD_READ_ONLY',
      'this dashboard is read-only',
      'Use kubectl or fleet, or install it with dashboard.readOnly=false',
    );
  const given = request.headers['x-csrf-token'];
  if (typeof given !== 'string' || !sameText(given, csrfOf(credential)))
    throw new DashboardError(403, 'AF_DASHBOARD_CSRF', 'the request does not come from the page', 'Load the page again');
}

/** Refuses what a page of another origin sent, and host names that an attacker made point here (DNS rebinding). */
export function assertOrigin(config: DashboardConfig, request: FastifyRequest): void {
  const site = request.headers['sec-fetch-site'];
  const foreign = site !== undefined && site !== 'same-origin' && site !== 'none';
  if (foreign && request.method !== 'GET')
    throw new DashboardError(
      403,
      'AF_DASHBOARD_ORIGIN',
      'the request comes from a page of another origin',
      'Use the page of the dashboard',
    );
  if (config.mode === 'Kubeconfig' && !/^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/.test(request.headers.host ?? ''))
    throw new DashboardError(403, 'AF_DASHBOARD_HOST', 'the name of the host is not that of loopback', 'Open it by 127.0.0.1');
}
