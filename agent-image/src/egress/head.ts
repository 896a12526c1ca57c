import { egressPort } from '@agentfleet/protocol/keeper';
import { plainHost, type HostPort } from './hosts.ts';

/** Largest head of a request, bytes. */
export const maxHeadBytes = 16 * 1024;

/** Request of a client of the proxy. */
export type ProxyRequest =
  | ({ readonly kind: 'Connect' } & HostPort)
  /** A plain HTTP request; `head` is the text for its server. */
  | ({ readonly kind: 'Forward'; readonly head: Buffer } & HostPort)
  /** A request to the port itself, as to any server; `head` is its own. */
  | { readonly kind: 'Own'; readonly head: Buffer };

/** Error of a head that is no request of a proxy; answered with 400. */
export class BadRequest extends Error {
  override readonly name = 'BadRequest';
}

const endOfHead = Buffer.from('\r\n\r\n');

/** Returns where the head ends in the bytes so far; null: more is needed. @throws BadRequest when it is too long */
export function headEnd(bytes: Buffer): number | null {
  const at = bytes.indexOf(endOfHead);
  if (at < 0 ? bytes.length > maxHeadBytes : at > maxHeadBytes) throw new BadRequest(`the head has over ${maxHeadBytes} bytes`);
  return at < 0 ? null : at + endOfHead.length;
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const authority = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9_.-]+)):(\d{1,5})$/;

/**
 * Reads a head: `CONNECT host:port` (RFC 9110, 9.3.6), a request in absolute form (RFC 9112, 3.2.2), or one in origin form to the
 * port itself. One in absolute form to the port itself, by a program that reads no NO_PROXY, is the same.
 *
 * @throws BadRequest for everything else
 */
export function parseHead(head: Buffer): ProxyRequest {
  const [line = '', ...fields] = head.toString('latin1').slice(0, -4).split('\r\n');
  const [method = '', target = '', version = '', ...more] = line.split(' ');
  if (more.length > 0 || !token.test(method) || !/^HTTP\/1\.[01]$/.test(version))
    throw new BadRequest('the first line is no HTTP/1 request');
  for (const field of fields) if (!isField(field)) throw new BadRequest('a header is malformed');
  if (method === 'CONNECT') return { kind: 'Connect', ...authorityOf(target) };
  if (target.startsWith('/')) return { kind: 'Own', head };
  const request = forward(method, target, fields);
  return request.port === egressPort && loopback.has(request.host) ? { kind: 'Own', head: request.head } : request;
}

const loopback: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost']);

function isField(field: string): boolean {
  const colon = field.indexOf(':');
  // oxlint-disable-next-line no-control-regex -- these are what must not be there
  return colon > 0 && token.test(field.slice(0, colon)) && !/[\0\r\n]/.test(field);
}

function authorityOf(target: string): HostPort {
  const match = authority.exec(target);
  const port = Number(match?.[3]);
  if (match === null || port < 1 || port > 65_535) throw new BadRequest('CONNECT needs host:port');
  return { host: plainHost(match[1] ?? match[2] ?? ''), port };
}

/** Headers that are between client and proxy only, and those that this proxy writes itself. */
const dropped = /^(?:host|connection|keep-alive|te|upgrade|proxy-[a-z-]+)$/i;

/** One request per connection: a following one could go to another host. */
function forward(method: string, target: string, fields: readonly string[]): Extract<ProxyRequest, { readonly kind: 'Forward' }> {
  if (!/^http:\/\//i.test(target) || !URL.canParse(target))
    throw new BadRequest('the address is neither host:port of CONNECT nor http://…');
  const { hostname, host, port, pathname, search, username, password } = new URL(target);
  if (username !== '' || password !== '') throw new BadRequest('the address holds credentials');
  const kept = fields.filter((field) => !dropped.test(field.slice(0, field.indexOf(':'))));
  const lines = [`${method} ${pathname}${search} HTTP/1.1`, `Host: ${host}`, ...kept, 'Connection: close'];
  return {
    kind: 'Forward',
    host: plainHost(hostname),
    port: port === '' ? 80 : Number(port),
    head: Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'),
  };
}

/** A short answer of the proxy itself; the connection ends with it. */
export function answer(status: number, reason: string, body: string): Buffer {
  const text = `${body}\n`;
  const fields = ['Content-Type: text/plain; charset=utf-8', `Content-Length: ${Buffer.byteLength(text)}`, 'Connection: close'];
  return Buffer.from(`HTTP/1.1 ${status} ${reason}\r\n${fields.join('\r\n')}\r\n\r\n${text}`);
}
