import { createHash, type X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { Clock, Transport } from '@agentfleet/kube';
import { resultsApi } from '@agentfleet/protocol/results';
import { TtlCache } from '../runtime/index.ts';

/** The caller, as the API server knows it. */
export interface Caller {
  readonly username: string;
  readonly uid?: string | undefined;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** Facts that the API server publishes about its front proxy, in a ConfigMap that extension servers may read. */
export interface FrontProxy {
  /** PEM. */
  readonly authority: string;
  /** Common names of its certificate; empty: any under that authority. */
  readonly names: readonly string[];
  readonly usernameHeaders: readonly string[];
  readonly uidHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraPrefixes: readonly string[];
}

const authenticationPath = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication';

function listOf(text: string | undefined): readonly string[] {
  if (text === undefined) return [];
  const list: unknown = JSON.parse(text);
  return Array.isArray(list) ? list.filter((one) => typeof one === 'string') : [];
}

const lower = (names: readonly string[]): readonly string[] => names.map((name) => name.toLowerCase());

/** Reads how the front proxy authenticates; undefined where the cluster has no aggregation layer. */
export async function readFrontProxy(transport: Transport, signal: AbortSignal): Promise<FrontProxy | undefined> {
  const found = await transport.request<{ readonly data?: Readonly<Record<string, string>> }>({
    method: 'GET',
    path: authenticationPath,
    signal,
  });
  const data = found.data ?? {};
  const authority = data['requestheader-client-ca-file'];
  if (authority === undefined || authority.trim() === '') return undefined;
  const usernames = lower(listOf(data['requestheader-username-headers']));
  return {
    authority,
    names: listOf(data['requestheader-allowed-names']),
    usernameHeaders: usernames.length > 0 ? usernames : ['x-remote-user'],
    uidHeaders: lower(listOf(data['requestheader-uid-headers'])),
    groupHeaders: lower(listOf(data['requestheader-group-headers'])),
    extraPrefixes: lower(listOf(data['requestheader-extra-headers-prefix'])),
  };
}

/** Reports whether a connection is the front proxy's: by a certificate under its authority, and by name. */
export function isFrontProxy(socket: Pick<TLSSocket, 'authorized' | 'getPeerX509Certificate'>, { names }: FrontProxy): boolean {
  const certificate: X509Certificate | undefined = socket.authorized ? socket.getPeerX509Certificate() : undefined;
  if (certificate === undefined) return false;
  const name = /(?:^|\n)CN=(.+)(?:\n|$)/.exec(certificate.subject)?.[1];
  return names.length === 0 || (name !== undefined && names.includes(name));
}

type Headers = IncomingMessage['headersDistinct'];

/** The caller that the front proxy names; undefined: none. */
export function callerByHeaders(headers: Headers, proxy: FrontProxy): Caller | undefined {
  const first = (names: readonly string[]): string | undefined => names.flatMap((name) => headers[name] ?? [])[0];
  const username = first(proxy.usernameHeaders);
  if (username === undefined || username === '') return undefined;
  const extra = new Map<string, readonly string[]>();
  for (const [name, values = []] of Object.entries(headers)) {
    const prefix = proxy.extraPrefixes.find((one) => name.startsWith(one));
    if (prefix === undefined) continue;
    const key = unescaped(name.slice(prefix.length));
    extra.set(key, [...(extra.get(key) ?? []), ...values]);
  }
  const groups = proxy.groupHeaders.flatMap((name) => headers[name] ?? []);
  return { username, uid: first(proxy.uidHeaders), groups, extra: Object.fromEntries(extra) };
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Time for which an answer of the API server counts, ms. */
const ttlMs = 10_000;

interface TokenAnswer {
  readonly status?: {
    readonly authenticated?: boolean;
    readonly user?: {
      readonly username?: string;
      readonly uid?: string;
      readonly groups?: readonly string[];
      readonly extra?: Readonly<Record<string, readonly string[]>>;
    };
  };
}

interface AccessAnswer {
  readonly status?: { readonly allowed?: boolean; readonly reason?: string };
}

/** The part of a task that a caller wants to read. */
export interface ResourceRead {
  readonly namespace: string;
  readonly name: string;
  readonly part: string;
}

export interface Verdict {
  readonly allowed: boolean;
  readonly reason: string;
}

/** Asks the API server who has a token, and who may read what. */
export class Delegation {
  readonly #transport: Transport;
  readonly #tokens: TtlCache<Caller | undefined>;
  readonly #reviews: TtlCache<Verdict>;

  constructor(transport: Transport, clock: Clock) {
    this.#transport = transport;
    this.#tokens = new TtlCache(clock, () => ttlMs);
    this.#reviews = new TtlCache(clock, () => ttlMs);
  }

  /** Returns the caller that has this token; undefined: none, or none any more. */
  callerByToken(token: string, signal: AbortSignal): Promise<Caller | undefined> {
    const key = createHash('sha256').update(token).digest('hex');
    return this.#tokens.of(key, async () => {
      const { status } = await this.#review<TokenAnswer>('authentication', 'TokenReview', { token }, signal);
      const { username, uid, groups = [], extra = {} } = status?.user ?? {};
      return status?.authenticated !== true || username === undefined ? undefined : { username, uid, groups, extra };
    });
  }

  /** Reports whether the caller may `get` this part of a task. */
  verdict({ username, uid, groups, extra }: Caller, { namespace, name, part }: ResourceRead, signal: AbortSignal): Promise<Verdict> {
    const { group, version } = resultsApi;
    const resourceAttributes = { namespace, verb: 'get', group, version, resource: 'agenttasks', subresource: part, name };
    const spec = { user: username, ...(uid !== undefined && { uid }), groups, extra, resourceAttributes };
    return this.#reviews.of(JSON.stringify(spec), async () => {
      const { status } = await this.#review<AccessAnswer>('authorization', 'SubjectAccessReview', spec, signal);
      return { allowed: status?.allowed === true, reason: status?.reason ?? '' };
    });
  }

  #review<T>(group: string, kind: string, spec: object, signal: AbortSignal): Promise<T> {
    const apiVersion = `${group}.k8s.io/v1`;
    const path = `/apis/${apiVersion}/${kind.toLowerCase()}s`;
    return this.#transport.request<T>({ method: 'POST', path, body: { apiVersion, kind, spec }, signal });
  }
}
