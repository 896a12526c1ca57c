import { readFile } from 'node:fs/promises';
import type * as library from '@modelcontextprotocol/client';
import type { Client, RequestOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Clock } from '@agentfleet/kube';
import { secretBounds } from '@agentfleet/protocol/keeper';
import type { McpServerBrief, PoolBrief } from '@agentfleet/protocol/pool';
import { codeOf, innermost, reasonOf } from '../base/failure.ts';
import { originFetch, type AddressRules, type OpenDialer, type OriginFetch } from '../egress/index.ts';
import { plain } from './tool.ts';

/** A server that a task may use. */
export interface McpServer extends McpServerBrief {
  readonly required: boolean;
  /** Rules for the addresses that it may have. */
  readonly rules: AddressRules;
}

interface McpPorts {
  readonly openDialer: OpenDialer;
  readonly authorities?: string | undefined;
  readonly credentials: PoolBrief['credentials'];
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Error of a server that did not do what was requested. */
export class McpFault extends Error {
  /** It may have done it all the same. */
  readonly maybeDone: boolean;

  constructor(message: string, maybeDone: boolean, options?: ErrorOptions) {
    super(plain(message).slice(0, 1000), options);
    this.name = 'McpFault';
    this.maybeDone = maybeDone;
  }
}

/** Bytes of one answer, seconds in which a server has to be there, and pages of its list of tools. */
const maxAnswerBytes = 4 * 1024 * 1024;
const connectSeconds = 20;
const maxPages = 8;
/** Longest time for an answer after the end of its stream, ms. */
const settleMs = 200;

/** Longest time for a server to end a session, ms. */
const endMs = 1_000;

/** Loaded when a task has a server: other workers do without it. */
const loadLibrary = (): Promise<Library> => import('@modelcontextprotocol/client');
type Library = typeof library;

interface Opened {
  readonly library: Library;
  readonly client: Client;
  readonly way: OriginFetch;
  readonly transport: StreamableHTTPClientTransport;
}

/** The session with one server: opened when it is needed, dropped when it breaks, and opened again for the next request. */
export class McpConnection {
  readonly #server: McpServer;
  readonly #ports: McpPorts;
  #opened: Opened | null = null;
  /** Values of its headers: a server may repeat what it was sent. */
  #secrets: readonly string[] = [];
  /** Ends the request that is under way. */
  #under: AbortController | null = null;

  constructor(server: McpServer, ports: McpPorts) {
    this.#server = server;
    this.#ports = ports;
  }

  /** Returns the tools as the server lists them, unchecked. @throws McpFault */
  async list(): Promise<readonly unknown[]> {
    const tools: unknown[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < maxPages; page += 1) {
      const params = cursor === undefined ? {} : { cursor };
      const answer = await this.#ask(connectSeconds, (client, options) => client.request({ method: 'tools/list', params }, options));
      for (const tool of answer.tools) tools.push(tool);
      cursor = answer.nextCursor;
      if (cursor === undefined) break;
    }
    return tools;
  }

  /** Calls a tool, once: a failure is not retried. @throws McpFault */
  call(
    name: string,
    args: Readonly<Record<string, unknown>>,
  ): Promise<{ readonly content: readonly unknown[]; readonly isError: boolean; readonly structured: unknown }> {
    return this.#ask(this.#server.timeoutSeconds, async (client, options) => {
      const answer = await client.request({ method: 'tools/call', params: { name, arguments: { ...args } } }, options);
      return { content: answer.content, isError: answer.isError === true, structured: answer.structuredContent };
    });
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = null;
    if (opened === null) return;
    await this.#endSession(opened);
    await opened.client.close().catch(() => undefined); // it is gone either way
    await opened.way.close().catch(() => undefined);
  }

  /** A server keeps a session until it is ended, or for a time of its choice. */
  async #endSession({ transport }: Opened): Promise<void> {
    if (transport.sessionId === undefined) return;
    const over = new Promise<void>((resolve) => void this.#ports.clock.after(endMs, resolve));
    await Promise.race([transport.terminateSession().catch(() => undefined), over]);
  }

  async #ask<T>(seconds: number, request: (client: Client, options: RequestOptions) => Promise<T>): Promise<T> {
    const { signal } = this.#ports;
    const { library, client } = (this.#opened ??= await this.#open());
    const under = new AbortController();
    this.#under = under;
    const [timeout, any] = [seconds * 1000, AbortSignal.any([signal, under.signal])];
    try {
      return this.#hidden(await request(client, { timeout, maxTotalTimeout: timeout, signal: any }));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof library.ProtocolError)
        throw new McpFault(this.#hidden(`it answers with the error ${error.code}: ${error.message}`), !untaken.has(error.code));
      await this.close();
      if (under.signal.aborted) throw new McpFault('the connection ended before the answer', true, { cause: error });
      throw faultOf(error, library, seconds);
    } finally {
      this.#under = null;
    }
  }

  async #open(): Promise<Opened> {
    const { url, rules } = this.#server;
    const { openDialer, authorities, signal } = this.#ports;
    const headers = await this.#headers();
    const library = await loadLibrary();
    const trusted = authorities === undefined ? {} : { authorities };
    const way = originFetch(url, { dialer: openDialer(rules), maxBytes: maxAnswerBytes, signal, ...trusted });
    // Unsolicited messages of a server are not read.
    const fetch: typeof way.fetch = async (to, init) =>
      init?.method === 'GET' ? new Response(null, { status: 405 }) : way.fetch(to, init);
    const transport = new library.StreamableHTTPClientTransport(new URL(url), {
      fetch,
      requestInit: { headers },
      reconnectionOptions: { initialReconnectionDelay: 1, maxReconnectionDelay: 1, reconnectionDelayGrowFactor: 1, maxRetries: 0 },
    });
    this.#watchEnds(transport);
    const client = new library.Client({ name: 'agentfleet', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    try {
      await client.connect(transport, { timeout: connectSeconds * 1000, signal });
      return { library, client, way, transport };
    } catch (error) {
      await client.close().catch(() => undefined);
      await way.close().catch(() => undefined);
      signal.throwIfAborted();
      throw new McpFault(faultOf(error, library, connectSeconds).message, false, { cause: error });
    }
  }

  /** An answer without the values of headers, which models must not see. */
  #hidden<T>(answer: T): T {
    const written = (value: string): string => JSON.stringify(value).slice(1, -1);
    const json = JSON.stringify(answer);
    if (!this.#secrets.some((secret) => json.includes(written(secret)))) return answer;
    return JSON.parse(this.#secrets.reduce((text, secret) => text.replaceAll(written(secret), '[REDACTED:Credential]'), json)) as T;
  }

  /** The library waits for its timeout when a stream ends without an answer. */
  #watchEnds(transport: StreamableHTTPClientTransport): void {
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      const under = this.#under;
      const onRequestStreamEnd = (): void => void this.#ports.clock.after(settleMs, () => under?.abort(new Error('the stream ended')));
      return send(message, { ...options, onRequestStreamEnd });
    };
  }

  async #headers(): Promise<Readonly<Record<string, string>>> {
    const headers: Record<string, string> = {};
    const secrets: string[] = [];
    for (const { name, credential, prefix } of this.#server.headers) {
      const found = this.#ports.credentials.find((one) => one.name === credential);
      if (found === undefined)
        throw new McpFault(
          `workers have no credential ${credential}; add an entry to spec.credentials of the pool that no model uses`,
          false,
        );
      const { hostname } = new URL(this.#server.url);
      if (!found.hosts.includes(hostname)) throw new McpFault(`credential ${credential} of the pool is not for ${hostname}`, false);
      const value = await readFile(found.file, 'utf8').catch((error: unknown) => {
        throw new McpFault(`the value of credential ${credential} is not there; check its Secret`, false, { cause: error });
      });
      headers[name] = `${prefix}${value.trim()}`;
      if (value.trim().length >= secretBounds.minChars) secrets.push(value.trim());
    }
    this.#secrets = secrets;
    return headers;
  }
}

/** Codes of JSON-RPC for requests that reach no handler: no JSON, no request, no such method, other parameters. */
const untaken: ReadonlySet<number> = new Set([-32_700, -32_600, -32_601, -32_602]);

/** Errors of connections that were never made. */
const unmade: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH']);

function faultOf(error: unknown, library: Library, seconds: number): McpFault {
  if (error instanceof library.SdkHttpError)
    return new McpFault(`it answers with HTTP status ${error.status}`, error.status >= 500, { cause: error });
  if (error instanceof library.SdkError && error.code === library.SdkErrorCode.RequestTimeout)
    return new McpFault(`there was no answer within ${seconds} s`, true, { cause: error });
  if (error instanceof SyntaxError || (error instanceof Error && error.name === 'ZodError'))
    return new McpFault('its answer is not of the protocol', true, { cause: error });
  return new McpFault(reasonOf(error), !unmade.has(codeOf(innermost(error))), { cause: error });
}
