import { lookup } from 'node:dns/promises';
import { connect, isIP, type Socket } from 'node:net';
import { deadline, type Clock } from '@agentfleet/kube';
import { createAddressGuard } from './addresses.ts';
import { plainHost, type HostPort } from './hosts.ts';
import { maxHeadBytes } from './head.ts';

/** Opens a connection to where a command wants to go. */
export interface Dialer {
  /**
   * A connected socket that may be half-closed.
   *
   * @throws Forbidden for an address that no name may lead to; Error when it cannot be reached
   */
  dial(to: HostPort, signal: AbortSignal): Promise<Socket>;
}

/** The name leads to where no allowed name may lead. */
export class Forbidden extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'Forbidden';
  }
}

export interface DialerOptions {
  readonly clock: Clock;
  /** The worker's own environment: HTTPS_PROXY and NO_PROXY count, and where the API server is. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** For tests. Default: the system's. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

const dialMs = 15_000;

export function createDialer({ clock, env, resolve = resolveAll }: DialerOptions): Dialer {
  const forbidden = createAddressGuard([env['KUBERNETES_SERVICE_HOST'] ?? '']);
  const proxy = proxyOf(env);
  return {
    async dial(to, outer) {
      const limit = deadline(clock, dialMs, outer);
      try {
        if (proxy !== null && !bypasses(env, to.host)) return await throughProxy(proxy, to, limit.signal);
        return await direct(await addressesOf(to, resolve, forbidden), to, limit.signal);
      } finally {
        limit.dispose();
      }
    },
  };
}

async function resolveAll(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** An address that the list names literally is the list's own decision; a name may not lead to forbidden ones. */
async function addressesOf(
  { host, port }: HostPort,
  resolve: (host: string) => Promise<readonly string[]>,
  forbidden: (address: string) => boolean,
): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  const found = await resolve(host);
  const fit = found.filter((address) => !forbidden(address));
  if (found.length > 0 && fit.length === 0) throw new Forbidden(`${host}:${port} leads to ${found[0] ?? ''}, which no name may lead to`);
  if (fit.length === 0) throw new Error(`${host} has no address`);
  return fit;
}

async function direct(addresses: readonly string[], { port }: HostPort, signal: AbortSignal): Promise<Socket> {
  let last: unknown;
  for (const host of addresses) {
    signal.throwIfAborted();
    try {
      return await open(host, port, signal);
    } catch (error) {
      last = error;
    }
  }
  throw last;
}

function open(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect({ host, port, allowHalfOpen: true });
  const onAbort = (): void => void socket.destroy(signal.reason instanceof Error ? signal.reason : new Error('nobody answered in time'));
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

function proxyOf(env: DialerOptions['env']): (HostPort & { readonly authorization: string | null }) | null {
  const value = env['HTTPS_PROXY'] ?? env['https_proxy'] ?? '';
  if (value === '' || !URL.canParse(value)) return null;
  const { protocol, hostname, port, username, password } = new URL(value);
  if (protocol !== 'http:') return null;
  const basic = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  return { host: plainHost(hostname), port: Number(port || 80), authorization: username === '' ? null : `Basic ${basic}` };
}

/** NO_PROXY: names, and names with all that is below them. */
function bypasses(env: DialerOptions['env'], host: string): boolean {
  const names = (env['NO_PROXY'] ?? env['no_proxy'] ?? '').split(',').map((name) => plainHost(name.trim()).replace(/^\*?\./, ''));
  return names.some((name) => name === '*' || (name !== '' && (host === name || host.endsWith(`.${name}`))));
}

async function throughProxy(proxy: NonNullable<ReturnType<typeof proxyOf>>, to: HostPort, signal: AbortSignal): Promise<Socket> {
  const socket = await open(proxy.host, proxy.port, signal);
  try {
    const where = to.host.includes(':') ? `[${to.host}]:${to.port}` : `${to.host}:${to.port}`;
    const fields = [`Host: ${where}`, ...(proxy.authorization === null ? [] : [`Proxy-Authorization: ${proxy.authorization}`])];
    socket.write(`CONNECT ${where} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`);
    await established(socket, signal);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Reads the proxy's answer and puts back what came after it. */
function established(socket: Socket, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let seen = Buffer.alloc(0);
  const onAbort = (): void => reject(new Error('the proxy of the worker did not answer in time'));
  const onData = (chunk: Buffer): void => {
    seen = Buffer.concat([seen, chunk]);
    const end = seen.indexOf('\r\n\r\n');
    if (end < 0) return seen.length > maxHeadBytes ? reject(new Error('the proxy of the worker says too much')) : undefined;
    const status = /^HTTP\/1\.[01] (\d{3})/.exec(seen.toString('latin1', 0, 64))?.[1];
    if (status !== '200') return reject(new Error(`the proxy of the worker answered ${status ?? 'nonsense'}`));
    socket.pause();
    if (end + 4 < seen.length) socket.unshift(seen.subarray(end + 4));
    resolve();
  };
  const onEnd = (): void => reject(new Error('the proxy of the worker closed the connection'));
  socket.on('data', onData).once('error', reject).once('end', onEnd);
  signal.addEventListener('abort', onAbort, { once: true });
  return promise.finally(() => {
    signal.removeEventListener('abort', onAbort);
    socket.removeListener('data', onData).removeListener('error', reject).removeListener('end', onEnd);
  });
}
