import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { asError, deadline, sleep, type Clock } from '@agentfleet/kube';
import { createAddressJudge, literalAddress, type AddressJudge, type AddressScope } from '@agentfleet/protocol/network';
import { HostList, type HostPort, plainHost } from './hosts.ts';

interface UpstreamProxy extends HostPort {
  readonly authorization: string | null;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Parses HTTPS_PROXY; null: unset, or not a proxy over plain HTTP. */
function upstreamOf(env: Env): UpstreamProxy | null {
  const value = env['HTTPS_PROXY'] ?? env['https_proxy'] ?? '';
  if (value === '' || !URL.canParse(value)) return null;
  const { protocol, hostname, port, username, password } = new URL(value);
  if (protocol !== 'http:') return null;
  const basic = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  return { host: plainHost(hostname), port: Number(port || 80), authorization: username === '' ? null : `Basic ${basic}` };
}

/** Reports whether NO_PROXY names a host: names, and names with all that is below them. */
function bypasses(env: Env, host: string): boolean {
  const names = (env['NO_PROXY'] ?? env['no_proxy'] ?? '').split(',').map((name) => plainHost(name.trim()).replace(/^\*?\./, ''));
  return names.some((name) => name === '*' || (name !== '' && (host === name || host.endsWith(`.${name}`))));
}

/** Opens connections to destinations of a command or git. */
export interface Dialer {
  /**
   * Returns a connected socket that may be half-closed.
   *
   * @throws Forbidden when no address of the host may be reached; Error when none can be
   */
  dial(to: HostPort, signal: AbortSignal): Promise<Socket>;
}

/** Decides which addresses may be reached; all non-public ones are closed by default. */
export interface AddressRules {
  /**
   * Names listed by the pool, or for registries by the platform. A listed name may resolve to private addresses; the
   * worker itself and the API server are reached only where their address is listed, so that no name server can lead
   * there.
   */
  readonly open: readonly HostPort[];
  /** Pods, services and nodes, in CIDR form, beside the private ranges. */
  readonly clusterRanges?: readonly string[];
}

/** Makes the dialer of one command or one import. */
export type OpenDialer = (rules: AddressRules) => Dialer;

/** No address of the host may be reached. The message is the same whether the name exists, and whatever it leads to. */
export class Forbidden extends Error {
  override readonly name = 'Forbidden';
}

export interface DialerOptions {
  readonly clock: Clock;
  /** The worker's own environment: HTTPS_PROXY and NO_PROXY count, and where the API server is. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Addresses of the worker's machine; as closed as private ones. Default: none. */
  readonly ownAddresses?: readonly string[];
  /** For tests. Default: the system's. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

/** Address scopes allowed for an unlisted host, a listed name, and a listed address. */
const scopesOf = {
  unlisted: ['Public'],
  name: ['Public', 'Private'],
  address: ['Public', 'Private', 'Host'],
} as const satisfies Readonly<Record<string, readonly AddressScope[]>>;

const dialMs = 15_000;

interface Guard {
  readonly listed: HostList;
  readonly judge: AddressJudge;
  readonly resolve: NonNullable<DialerOptions['resolve']>;
}

/** The only way in which a worker connects for a task: each address is judged, and the one that was judged is dialed. */
export function createDialer({ clock, env, ownAddresses = [], resolve = resolveAll }: DialerOptions): OpenDialer {
  const upstream = upstreamOf(env);
  return ({ open, clusterRanges = [] }) => {
    const ranges = { private: [...clusterRanges, ...ownAddresses], host: [env['KUBERNETES_SERVICE_HOST'] ?? ''] };
    const guard: Guard = { listed: new HostList(open), judge: createAddressJudge(ranges), resolve };
    const reach = async (to: HostPort, signal: AbortSignal): Promise<Socket> => {
      if (upstream === null || bypasses(env, to.host)) return dialFirst(await addressesOf(to, guard), to.port, { clock, signal });
      // The proxy resolves names by itself: an unlisted one is requested by the judged address.
      const byName = literalAddress(to.host) === null && guard.listed.has(to);
      const [host = to.host] = byName ? [] : await addressesOf(to, guard);
      return through(upstream, { host, port: to.port }, signal);
    };
    return {
      async dial(to, outer) {
        using limit = deadline(clock, dialMs, outer);
        return await reach(to, limit.signal);
      },
    };
  };
}

async function resolveAll(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** The addresses of a host that may be reached; never empty. @throws Forbidden */
async function addressesOf(to: HostPort, { listed, judge, resolve }: Guard): Promise<readonly string[]> {
  const written = `${to.host}:${to.port}`;
  const literal = literalAddress(to.host);
  const isListed = listed.has(to);
  const found = literal === null ? await addressesBy(resolve, to.host, isListed) : [literal];
  const scopes: readonly AddressScope[] = scopesOf[isListed ? (literal === null ? 'name' : 'address') : 'unlisted'];
  const fit = found.filter((address) => scopes.includes(judge(address)));
  if (fit.length > 0) return fit;
  if (!isListed)
    throw new Forbidden(
      `${written} may not be reached: it is unknown, or inside the cluster or a private network; correct it, or list it in spec.policy.allowedHosts of the pool`,
    );
  if (found.length === 0) throw new Error(`${to.host} has no address`);
  throw new Forbidden(
    `${written} may not be reached: it is listed, and leads to the worker itself, the API server or a link-local address; correct what is listed`,
  );
}

/** The refusal does not reveal whether a name exists that may be one of the cluster. */
async function addressesBy(resolve: Guard['resolve'], host: string, isListed: boolean): Promise<readonly string[]> {
  try {
    return await resolve(host);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (!isListed && (code === 'ENOTFOUND' || code === 'ENODATA')) return [];
    throw error;
  }
}

/** After how long the next address is tried beside those that have not answered (RFC 8305, 5), ms. */
const nextAddressMs = 250;

interface Race {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Connects to the first address that answers, and closes the connections to all others. The addresses were judged. `connect`
 * would give up one that takes longer than the next one's delay (`autoSelectFamily`).
 *
 * @throws the failure of the last address when all fail; the signal's reason
 */
export async function dialFirst(addresses: readonly string[], port: number, { clock, signal }: Race): Promise<Socket> {
  const over = new AbortController();
  const racing = AbortSignal.any([signal, over.signal]);
  const attempts: Promise<Socket>[] = [];
  let first: Socket | null = null;
  try {
    for (const host of addresses) {
      signal.throwIfAborted();
      const newest = open(host, port, racing);
      attempts.push(newest);
      const late = sleep(clock, nextAddressMs, racing).then(() => null);
      first = await Promise.race([Promise.any(attempts), newest, late]).catch(() => null);
      if (first !== null) return first;
    }
    first = await Promise.any(attempts);
    return first;
  } catch (error) {
    throw error instanceof AggregateError ? error.errors.at(-1) : error;
  } finally {
    over.abort();
    for (const attempt of attempts) void attempt.then((socket) => socket !== first && socket.destroy()).catch(() => undefined);
  }
}

function open(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect({ host, port, allowHalfOpen: true });
  const onAbort = (): void => void socket.destroy(new Error('nobody answered in time', { cause: signal.reason }));
  signal.addEventListener('abort', onAbort, { once: true });
  socket.once('connect', () => {
    signal.removeEventListener('abort', onAbort);
    socket.removeListener('error', reject);
    resolve(socket);
  });
  socket.once('error', reject);
  socket.once('close', () => signal.removeEventListener('abort', onAbort));
  if (signal.aborted) onAbort();
  return promise;
}

/** Asks the worker's own proxy for a connection to a host. */
async function through(proxy: UpstreamProxy, { host, port }: HostPort, signal: AbortSignal): Promise<Socket> {
  const socket = await open(proxy.host, proxy.port, signal);
  const path = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  const headers = { Host: path, ...(proxy.authorization !== null && { 'Proxy-Authorization': proxy.authorization }) };
  const asked = request({ createConnection: () => socket, method: 'CONNECT', path, headers, signal }).end();
  asked.on('error', () => undefined); // the wait below reports it
  try {
    const [{ statusCode = 0 }, , rest] = (await once(asked, 'connect')) as [IncomingMessage, Socket, Buffer];
    if (statusCode !== 200) throw new Error(`status ${statusCode}`);
    socket.unshift(rest);
    return socket;
  } catch (error) {
    socket.destroy();
    throw new Error(`the proxy of the worker gave no connection: ${asError(error).message}`, { cause: error });
  }
}
