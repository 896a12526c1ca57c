import { callbackify, promisify } from 'node:util';
import { deadline, type Clock } from '@agentfleet/kube';
import { Agent, buildConnector, fetch, type RequestInit } from 'undici';
import { reasonOf } from '../base/failure.ts';
import { beginningOf } from '../base/requests.ts';
import type { Dialer } from './dial.ts';
import { HostList, type HostPort } from './hosts.ts';

interface PageOptions {
  readonly hosts: readonly HostPort[];
  readonly dialer: Dialer;
  readonly maxBytes: number;
  /** Time limit for the whole answer. */
  readonly seconds: number;
  /** PEM certificates that are trusted; default: those of Node. */
  readonly authorities?: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Content at a URL. */
export interface Page {
  readonly status: number;
  /** Content type by the server; empty: not given. */
  readonly type: string;
  readonly body: Buffer;
  /** There is more than `body`. */
  readonly cut: boolean;
  readonly url: string;
}

/** Error of a page that is not available, for the caller. */
export class PageFault extends Error {
  override readonly name = 'PageFault';
}

const maxRedirects = 5;
const accept = 'text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.5';

/**
 * Gets a page from a listed host. Each redirect is checked against the list like the first request, and each address is
 * judged after its name was resolved.
 *
 * @throws PageFault
 */
export async function getPage(url: string, options: PageOptions): Promise<Page> {
  using limit = deadline(options.clock, options.seconds * 1000, options.signal);
  const agent = new Agent({ connect: connectorOf(options, limit.signal), connections: 1 });
  try {
    return await follow(url, agent, options, limit.signal);
  } catch (error) {
    options.signal.throwIfAborted();
    if (limit.signal.aborted) throw new PageFault(`there was no whole answer within ${options.seconds} s`, { cause: error });
    throw error instanceof PageFault ? error : new PageFault(reasonOf(error), { cause: error });
  } finally {
    await agent.destroy();
  }
}

async function follow(first: string, agent: Agent, { hosts, maxBytes }: PageOptions, signal: AbortSignal): Promise<Page> {
  const list = new HostList(hosts);
  let url = first;
  for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
    const target = targetOf(url);
    if (!list.has(target)) throw new PageFault(notListed(target, hosts));
    const answer = await fetch(url, { dispatcher: agent, redirect: 'manual', signal, headers: { accept, 'user-agent': 'agentfleet' } });
    const location = answer.headers.get('location');
    if (answer.status < 300 || answer.status >= 400 || location === null) {
      const { body, cut } = await beginningOf(maxBytes, answer.body);
      return { status: answer.status, type: answer.headers.get('content-type') ?? '', body, cut, url };
    }
    await answer.body?.cancel();
    if (!URL.canParse(location, url)) throw new PageFault('it redirects to what is no URL');
    url = new URL(location, url).href;
  }
  throw new PageFault(`it redirects more than ${maxRedirects} times`);
}

function targetOf(url: string): HostPort {
  const { protocol, hostname: host, port, username, password } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:') throw new PageFault(`${protocol} is not served; use http or https`);
  if (username !== '' || password !== '') throw new PageFault('it holds a name and password; leave them out');
  return { host, port: Number(port || (protocol === 'https:' ? 443 : 80)) };
}

function notListed({ host, port }: HostPort, hosts: readonly HostPort[]): string {
  const known = hosts.slice(0, 20).map((one) => `${one.host}:${one.port}`);
  return `${host}:${port} is not listed in spec.policy.network.hosts; the hosts are: ${known.join(', ') || 'none'}`;
}

type OriginOptions = Pick<PageOptions, 'dialer' | 'maxBytes' | 'authorities' | 'signal'>;

/** A way to one server. */
export interface OriginFetch {
  /** Rejects for other origins, answers of more than `maxBytes`, and redirects, unless `redirect: 'manual'` gives them to the caller. */
  readonly fetch: (url: string | URL, init?: globalThis.RequestInit) => Promise<Response>;
  close(): Promise<void>;
}

/** Returns a fetch that reaches only the origin of a URL; each address is judged after its name was resolved. */
export function originFetch(url: string, options: OriginOptions): OriginFetch {
  const { origin } = new URL(url);
  // The caller bounds the time: an answer may be a stream that waits.
  const agent = new Agent({ connect: connectorOf(options, options.signal), headersTimeout: 0, bodyTimeout: 0 });
  return {
    fetch: async (to, init = {}) => {
      if (new URL(to).origin !== origin) throw new PageFault(`${new URL(to).origin} is not ${origin}`);
      const redirect = init.redirect === 'manual' ? 'manual' : 'error';
      const answer = await fetch(to, { ...(init as unknown as RequestInit), dispatcher: agent, redirect });
      const body = answer.body === null ? null : (answer.body as ReadableStream<Uint8Array>).pipeThrough(boundedTo(options.maxBytes));
      return new Response(body, { status: answer.status, headers: [...answer.headers] });
    },
    close: () => agent.destroy(),
  };
}

function boundedTo(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let size = 0;
  return new TransformStream({
    transform: (chunk, controller) => {
      size += chunk.length;
      if (size > maxBytes) controller.error(new PageFault(`the answer has more than ${maxBytes} bytes`));
      else controller.enqueue(chunk);
    },
  });
}

/** Opens connections for undici; with TLS for https, to the requested name. */
function connectorOf({ dialer, authorities }: Pick<PageOptions, 'dialer' | 'authorities'>, signal: AbortSignal): buildConnector.connector {
  const secured = promisify(buildConnector({ allowH2: false, ...(authorities !== undefined && { ca: authorities }) }));
  const open = async (to: buildConnector.Options): Promise<unknown> => {
    const { hostname: host, port, protocol } = to;
    const secure = protocol === 'https:';
    const socket = await dialer.dial({ host, port: Number(port || (secure ? 443 : 80)) }, signal);
    if (!secure) return socket;
    signal.addEventListener('abort', () => socket.destroy(), { once: true });
    return secured({ ...to, httpSocket: socket });
  };
  return callbackify(open) as unknown as buildConnector.connector;
}
