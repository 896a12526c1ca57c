import type { Duplex } from 'node:stream';
import { deadline, type Clock, type Timer } from '@agentfleet/kube';
import { isIP, type Socket } from 'node:net';
import { Forbidden, type Dialer } from './dial.ts';
import { answer, BadRequest, headEnd, parseHead, type ProxyRequest } from './head.ts';
import { plainHost, type HostList, type HostPort } from './hosts.ts';

export interface Spliced {
  /** Bytes from a to b, and back. */
  readonly forth: number;
  readonly back: number;
}

/**
 * Joins two connections byte for byte until both directions have ended; the end of one direction is handed on and leaves
 * the other open. Ends with either's failure, or when nothing moved for `idleMs`. Never rejects, leaves both destroyed.
 */
export function splice(a: Duplex, b: Duplex, { clock, idleMs }: { readonly clock: Clock; readonly idleMs: number }): Promise<Spliced> {
  const { promise, resolve } = Promise.withResolvers<Spliced>();
  const moved = { forth: 0, back: 0 };
  let last = clock.monotonic();
  let timer: Timer | undefined;
  let open = 2;
  const finish = (): void => {
    timer?.cancel();
    a.destroy();
    b.destroy();
    resolve(moved);
  };
  const watch = (): void => {
    const left = last + idleMs - clock.monotonic();
    if (left <= 0) finish();
    else timer = clock.after(left, watch);
  };
  const flow = (from: Duplex, to: Duplex, way: keyof typeof moved): void => {
    from.on('data', (chunk: Buffer) => {
      moved[way] += chunk.length;
      last = clock.monotonic();
    });
    from.once('end', () => {
      open -= 1;
      if (open === 0) to.end(finish);
    });
    from.once('error', finish);
    from.once('close', () => {
      if (!from.readableEnded) finish();
      // The peer closed after its last byte, which is still forwarded; nothing can be sent back.
      else if (open > 0) to.end(finish);
    });
    from.pipe(to);
  };
  flow(a, b, 'forth');
  flow(b, a, 'back');
  watch();
  return promise;
}

/** Longest ClientHello that is read, bytes. */
export const maxHelloBytes = 64 * 1024;

/** Meaning of a connection's first bytes; `More`: not decided yet. */
type Hello =
  | { readonly kind: 'More' }
  | { readonly kind: 'NotTLS' }
  /** `serverName` null: the client names none. */
  | { readonly kind: 'TLS'; readonly serverName: string | null };

const more: Hello = { kind: 'More' };
const notTLS: Hello = { kind: 'NotTLS' };

/**
 * Reads the server name out of a TLS ClientHello (RFC 8446, 4.1.2; RFC 6066, 3), which may be spread over records. Nothing
 * is decrypted and nothing is changed.
 */
export function readHello(bytes: Buffer): Hello {
  const parts: Buffer[] = [];
  let have = 0;
  for (let at = 0; ;) {
    const record = bytes.subarray(at);
    if (record.length > 0 && record[0] !== 22) return notTLS;
    if (record.length > 1 && record[1] !== 3) return notTLS;
    if (record.length < 5) return bytes.length > maxHelloBytes ? notTLS : more;
    const length = record.readUInt16BE(3);
    if (length === 0 || length > 16_640) return notTLS;
    const body = record.subarray(5, 5 + length);
    parts.push(body);
    have += body.length;
    const handshake = Buffer.concat(parts);
    if (have > 0 && handshake[0] !== 1) return notTLS;
    const whole = have < 4 ? Infinity : 4 + handshake.readUIntBE(1, 3);
    if (whole !== Infinity && whole > maxHelloBytes) return notTLS;
    if (have >= whole) return nameIn(handshake.subarray(4, whole));
    if (body.length < length) return more;
    at += 5 + length;
  }
}

/** A reader that refuses to go past its end. */
class Cursor {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  number(size: 1 | 2): number {
    return this.take(size).readUIntBE(0, size);
  }

  take(length: number): Buffer {
    if (length > this.left) throw new RangeError('the ClientHello ends early');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}

function nameIn(hello: Buffer): Hello {
  try {
    const body = new Cursor(hello);
    body.take(2 + 32); // version and random
    body.take(body.number(1)); // session
    body.take(body.number(2)); // cipher suites
    body.take(body.number(1)); // compression
    if (body.left === 0) return { kind: 'TLS', serverName: null };
    const extensions = new Cursor(body.take(body.number(2)));
    while (extensions.left > 0) {
      const type = extensions.number(2);
      const content = extensions.take(extensions.number(2));
      if (type === 0) return { kind: 'TLS', serverName: hostIn(new Cursor(content)) };
    }
    return { kind: 'TLS', serverName: null };
  } catch (error) {
    if (error instanceof RangeError) return notTLS;
    throw error;
  }
}

function hostIn(extension: Cursor): string | null {
  const list = new Cursor(extension.take(extension.number(2)));
  while (list.left > 0) {
    const type = list.number(1);
    const name = list.take(list.number(2));
    if (type === 0) return name.toString('latin1');
  }
  return null;
}

interface PeekOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Counted from the first byte. */
  readonly limitMs: number;
  readonly onFirst?: () => void;
}

/**
 * Collects bytes until `decide` decides about them, and returns both; null when the stream ends, fails or takes too
 * long before that. Leaves the stream paused; the bytes are consumed.
 *
 * @throws errors of `decide`
 */
async function peek<T>(
  stream: Duplex,
  decide: (bytes: Buffer) => T | null,
  { clock, signal, limitMs, onFirst }: PeekOptions,
): Promise<{ readonly value: T; readonly bytes: Buffer } | null> {
  if (stream.destroyed || stream.readableEnded) return null;
  const { promise, resolve, reject } = Promise.withResolvers<{ readonly value: T; readonly bytes: Buffer } | null>();
  let bytes = Buffer.alloc(0);
  let limit: ReturnType<typeof deadline> | undefined;
  const over = (): void => resolve(null);
  const onData = (chunk: Buffer): void => {
    if (limit === undefined) {
      onFirst?.();
      limit = deadline(clock, limitMs, signal);
      limit.signal.addEventListener('abort', over, { once: true });
    }
    bytes = Buffer.concat([bytes, chunk]);
    try {
      const value = decide(bytes);
      if (value === null) return;
      stream.pause();
      resolve({ value, bytes });
    } catch (error) {
      stream.pause();
      reject(error instanceof Error ? error : new Error(String(error)));
    }
  };
  for (const event of ['end', 'close', 'error']) stream.once(event, over);
  stream.on('data', onData);
  stream.resume();
  try {
    return await promise;
  } finally {
    stream.pause();
    stream.removeListener('data', onData);
    for (const event of ['end', 'close', 'error']) stream.removeListener(event, over);
    limit?.dispose();
  }
}

/** Result of one request; bytes as seen from the sandbox. */
export interface EgressRequest extends HostPort {
  readonly decision: 'Allowed' | 'NotListed' | 'Forbidden' | 'NotTLS' | 'OtherName' | 'Unreachable';
  readonly bytesOut: number;
  readonly bytesIn: number;
  /** The client's answer, where no connection was opened. */
  readonly why?: string;
}

export interface ConnectionOptions {
  readonly hosts: Pick<HostList, 'has'>;
  /** Field that holds the list, for refusals. */
  readonly listedIn: string;
  readonly dialer: Dialer;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onTaken: () => void;
  readonly onRequest: (request: EgressRequest) => void;
  /** Serves requests to the port itself until the tunnel has ended; absent: they are refused. */
  readonly own?: ServeOwn | undefined;
}

/** A server behind the local port. Resolves when the tunnel has ended; never rejects. */
export type ServeOwn = (tunnel: Duplex) => Promise<void>;

/** Longest time for a client to send its head and its ClientHello, and longest time for a connection to be idle, ms. */
const speakMs = 30_000;
const idleMs = 300_000;

/** Serves one tunnel from its first byte to its end. Never rejects. */
export async function serveTunnel(tunnel: Duplex, options: ConnectionOptions): Promise<void> {
  tunnel.on('error', () => undefined); // its close event reports it
  try {
    const request = await requestOf(tunnel, options);
    if (request?.kind === 'Own') await serveOwn(tunnel, request.head, options);
    else if (request !== null) await handle(tunnel, request, options);
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

async function serveOwn(tunnel: Duplex, head: Buffer, { own }: ConnectionOptions): Promise<void> {
  if (own === undefined) throw new BadRequest('the address is neither host:port of CONNECT nor http://…');
  tunnel.unshift(head);
  await own(tunnel);
}

async function handle(tunnel: Duplex, request: Exclude<ProxyRequest, { readonly kind: 'Own' }>, options: ConnectionOptions): Promise<void> {
  const { hosts, listedIn, onRequest } = options;
  const { host, port } = request;
  const record = (decision: EgressRequest['decision'], more: Partial<EgressRequest> = {}): void =>
    onRequest({ host, port, decision, bytesOut: 0, bytesIn: 0, ...more });
  if (!hosts.has(request)) {
    record('NotListed');
    return say(tunnel, 403, 'Forbidden', `${host}:${port} is not listed in ${listedIn}`);
  }
  let server: Socket;
  try {
    server = await options.dialer.dial(request, options.signal);
  } catch (error) {
    const forbidden = error instanceof Forbidden;
    const why = error instanceof Error ? error.message : String(error);
    record(forbidden ? 'Forbidden' : 'Unreachable', { why });
    return forbidden ? say(tunnel, 403, 'Forbidden', why) : say(tunnel, 502, 'Bad Gateway', `${host}:${port} cannot be reached: ${why}`);
  }
  server.on('error', () => undefined); // its close event reports it
  try {
    if (request.kind === 'Forward') tunnel.unshift(request.head);
    const refused = request.kind === 'Connect' ? await connected(tunnel, request, options) : undefined;
    if (refused !== undefined) return record(refused);
    const { forth, back } = await splice(tunnel, server, { clock: options.clock, idleMs });
    record('Allowed', { bytesOut: forth, bytesIn: back });
  } finally {
    server.destroy();
  }
}

/** After CONNECT the client must speak TLS to the named host; on port 80 anything is allowed. */
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
