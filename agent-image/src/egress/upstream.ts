import type { Socket } from 'node:net';
import { maxHeadBytes } from './head.ts';
import { plainHost, type HostPort } from './hosts.ts';

/** The proxy that the worker itself has to use. */
export interface UpstreamProxy extends HostPort {
  readonly authorization: string | null;
}

type Env = Readonly<Record<string, string | undefined>>;

/** What HTTPS_PROXY names; null: nothing, or no proxy over plain HTTP. */
export function upstreamOf(env: Env): UpstreamProxy | null {
  const value = env['HTTPS_PROXY'] ?? env['https_proxy'] ?? '';
  if (value === '' || !URL.canParse(value)) return null;
  const { protocol, hostname, port, username, password } = new URL(value);
  if (protocol !== 'http:') return null;
  const basic = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  return { host: plainHost(hostname), port: Number(port || 80), authorization: username === '' ? null : `Basic ${basic}` };
}

/** Whether NO_PROXY names a host: names, and names with all that is below them. */
export function bypasses(env: Env, host: string): boolean {
  const names = (env['NO_PROXY'] ?? env['no_proxy'] ?? '').split(',').map((name) => plainHost(name.trim()).replace(/^\*?\./, ''));
  return names.some((name) => name === '*' || (name !== '' && (host === name || host.endsWith(`.${name}`))));
}

/** Asks the proxy, on a connection to it, for one to a host. The caller closes the socket when it rejects. */
export async function tunnelTo(socket: Socket, proxy: UpstreamProxy, { host, port }: HostPort, signal: AbortSignal): Promise<void> {
  const where = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  const fields = [`Host: ${where}`, ...(proxy.authorization === null ? [] : [`Proxy-Authorization: ${proxy.authorization}`])];
  socket.write(`CONNECT ${where} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`);
  await established(socket, signal);
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
