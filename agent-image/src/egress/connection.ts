import { isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '@agentfleet/kube';
import { readHello, type Hello } from './clientHello.ts';
import { Forbidden, type Dialer } from './dial.ts';
import { answer, BadRequest, headEnd, parseHead, type ProxyRequest } from './head.ts';
import { plainHost, type HostList, type HostPort } from './hosts.ts';
import { peek } from './peek.ts';
import { splice } from './splice.ts';

/** What became of one request; bytes as seen from the sandbox. */
export interface EgressRequest extends HostPort {
  readonly decision: 'Allowed' | 'NotListed' | 'Forbidden' | 'NotTLS' | 'OtherName' | 'Unreachable';
  readonly bytesOut: number;
  readonly bytesIn: number;
  /** What the client is told, where nothing was opened. */
  readonly why?: string;
}

export interface ConnectionOptions {
  readonly hosts: Pick<HostList, 'has'>;
  /** Where the list is written, for refusals. */
  readonly listedIn: string;
  readonly dialer: Dialer;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onTaken: () => void;
  readonly onRequest: (request: EgressRequest) => void;
}

/** How long a client may take for its head and its ClientHello, and how long nothing may move, ms. */
const speakMs = 30_000;
const idleMs = 300_000;

/** Serves one tunnel from its first byte to its end. Never rejects. */
export async function serveTunnel(tunnel: Duplex, options: ConnectionOptions): Promise<void> {
  tunnel.on('error', () => undefined); // its end tells
  try {
    const request = await requestOf(tunnel, options);
    if (request !== null) await handle(tunnel, request, options);
  } catch (error) {
    if (error instanceof BadRequest) await say(tunnel, 400, 'Bad Request', error.message);
  } finally {
    tunnel.destroy();
  }
}

async function requestOf(tunnel: Duplex, { clock, signal, onTaken }: ConnectionOptions): Promise<ProxyRequest | null> {
  const head = await peek(tunnel, headEnd, { clock, signal, limitMs: speakMs, onFirst: onTaken });
  if (head === null) return null;
  if (head.bytes.length > head.value) tunnel.unshift(head.bytes.subarray(head.value));
  return parseHead(head.bytes.subarray(0, head.value));
}

async function handle(tunnel: Duplex, request: ProxyRequest, options: ConnectionOptions): Promise<void> {
  const { hosts, listedIn, onRequest } = options;
  const { host, port } = request;
  const told = (decision: EgressRequest['decision'], more: Partial<EgressRequest> = {}): void =>
    onRequest({ host, port, decision, bytesOut: 0, bytesIn: 0, ...more });
  if (!hosts.has(request)) {
    told('NotListed');
    return say(tunnel, 403, 'Forbidden', `${host}:${port} is not listed in ${listedIn}`);
  }
  let server: Socket;
  try {
    server = await options.dialer.dial(request, options.signal);
  } catch (error) {
    const forbidden = error instanceof Forbidden;
    const why = error instanceof Error ? error.message : String(error);
    told(forbidden ? 'Forbidden' : 'Unreachable', { why });
    return forbidden ? say(tunnel, 403, 'Forbidden', why) : say(tunnel, 502, 'Bad Gateway', `${host}:${port} cannot be reached: ${why}`);
  }
  server.on('error', () => undefined); // its end tells
  try {
    if (request.kind === 'Forward') tunnel.unshift(request.head);
    const refused = request.kind === 'Connect' ? await connected(tunnel, request, options) : undefined;
    if (refused !== undefined) return told(refused);
    const { forth, back } = await splice(tunnel, server, { clock: options.clock, idleMs });
    told('Allowed', { bytesOut: forth, bytesIn: back });
  } finally {
    server.destroy();
  }
}

/** After CONNECT the client has to speak TLS to the host that it named; on port 80 anything goes. */
async function connected(
  tunnel: Duplex,
  { host, port }: HostPort,
  { clock, signal }: ConnectionOptions,
): Promise<'NotTLS' | 'OtherName' | undefined> {
  tunnel.write('HTTP/1.1 200 Connection established\r\n\r\n');
  if (port === 80) return undefined;
  const decide = (bytes: Buffer): Hello | null => {
    const hello = readHello(bytes);
    return hello.kind === 'More' ? null : hello;
  };
  const hello = await peek(tunnel, decide, { clock, signal, limitMs: speakMs });
  if (hello?.value.kind !== 'TLS') return 'NotTLS';
  const { serverName } = hello.value;
  const same = serverName === null ? isIP(host) !== 0 : plainHost(serverName) === host;
  if (!same) return 'OtherName';
  tunnel.unshift(hello.bytes);
  return undefined;
}

async function say(tunnel: Duplex, status: number, reason: string, body: string): Promise<void> {
  await new Promise<void>((resolve) => {
    tunnel.once('close', () => resolve());
    tunnel.end(answer(status, reason, body), () => resolve());
  });
}
