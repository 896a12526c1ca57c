import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import { silentLog, type Log } from '../runtime/log.ts';

/** A health check; throws or rejects with what is wrong. */
export type Check = () => void | Promise<void>;

export interface CheckResult {
  readonly name: string;
  /** Undefined when all is well. */
  readonly failure: string | undefined;
}

/** Runs all checks; none stops another. */
export async function runChecks(checks: ReadonlyMap<string, Check>): Promise<readonly CheckResult[]> {
  return Promise.all(
    [...checks].map(async ([name, check]) => {
      try {
        await check();
        return { name, failure: undefined };
      } catch (error) {
        return { name, failure: error instanceof Error ? error.message : String(error) };
      }
    }),
  );
}

/** Returns the text as Kubernetes' own components do: one line for each check. The caller gets no reason: it is in the process's log. */
export function renderChecks(
  endpoint: string,
  results: readonly CheckResult[],
  verbose: boolean,
): { readonly ok: boolean; readonly text: string } {
  const ok = results.every((result) => result.failure === undefined);
  if (ok && !verbose) return { ok, text: 'ok' };
  const lines = results.map(({ name, failure }) => (failure === undefined ? `[+]${name} ok` : `[-]${name} failed: reason withheld`));
  return { ok, text: `${lines.join('\n')}\n${endpoint} check ${ok ? 'passed' : 'failed'}\n` };
}

export interface EndpointOptions {
  readonly port: number;
  readonly host?: string;
  /** Checks under /healthz: the process must be restarted when one fails. */
  readonly health?: ReadonlyMap<string, Check>;
  /** Checks under /readyz: it must get no work while one fails. */
  readonly ready?: ReadonlyMap<string, Check>;
  /** Served under /metrics. */
  readonly registry?: Registry | undefined;
  /** Returns the answer of /metrics to a request with this Accept, in place of `registry`. */
  readonly scrape?: (accept: string | undefined) => Promise<{ readonly type: string; readonly text: string }>;
  /** Decides which clients may read metrics, by the `Authorization` header; absent: all. */
  readonly authorize?: Authorize | undefined;
  /** Gets why checks fail, once for each change. */
  readonly log?: Log | undefined;
  /** Answers what else is served, and authorizes it by itself; false: the request is none of it. */
  readonly more?: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
}

/** The refusal of a request, or undefined when it is let in. */
export type Authorize = (authorization: string | undefined) => Promise<{ readonly status: 401 | 403; readonly text: string } | undefined>;

export interface Endpoints {
  readonly port: number;
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

const plain = (status: number, text: string): Answer => ({ status, type: 'text/plain; charset=utf-8', text });

/** Reasons that were logged, by endpoint and check. */
type Logged = Map<string, string | undefined>;

function logChanges(log: Log, logged: Logged, endpoint: string, results: readonly CheckResult[]): void {
  for (const { name, failure } of results) {
    const key = `${endpoint}/${name}`;
    if (logged.get(key) === failure) continue;
    logged.set(key, failure);
    if (failure === undefined) log.info('a check passes again', { check: key });
    else log.warn('a check fails', { check: key, error: failure });
  }
}

interface Asked {
  readonly endpoint: string;
  readonly checks: ReadonlyMap<string, Check>;
  readonly only: string | undefined;
  readonly verbose: boolean;
}

async function checksAnswer(
  { endpoint, checks, only, verbose }: Asked,
  onResults: (results: readonly CheckResult[]) => void,
): Promise<Answer> {
  const chosen = only === undefined ? checks : new Map([...checks].filter(([name]) => name === only));
  if (only !== undefined && chosen.size === 0) return plain(404, `no check ${JSON.stringify(only)}\n`);
  const results = await runChecks(chosen);
  onResults(results);
  const { ok, text } = renderChecks(endpoint, results, verbose);
  return plain(ok ? 200 : 500, text);
}

async function answer(options: EndpointOptions, logged: Logged, request: IncomingMessage): Promise<Answer> {
  if (request.method !== 'GET' && request.method !== 'HEAD') return plain(405, 'use GET\n');
  const url = new URL(request.url ?? '/', 'http://localhost');
  const [, endpoint = '', only] = /^\/([^/]*)(?:\/(.+))?$/.exec(url.pathname) ?? [];
  const verbose = url.searchParams.has('verbose');
  const checks = endpoint === 'healthz' ? options.health : endpoint === 'readyz' ? options.ready : undefined;
  if (checks !== undefined) {
    return checksAnswer({ endpoint, checks, only, verbose }, (results) => logChanges(options.log ?? silentLog, logged, endpoint, results));
  }
  const { registry, scrape } = options;
  if (endpoint === 'metrics' && only === undefined && (registry !== undefined || scrape !== undefined)) {
    const refusal = await options.authorize?.(request.headers.authorization);
    if (refusal !== undefined) return plain(refusal.status, `${refusal.text}\n`);
    if (scrape !== undefined) return { status: 200, ...(await scrape(request.headers.accept)) };
    if (registry !== undefined) return { status: 200, type: registry.contentType, text: await registry.metrics() };
  }
  return plain(404, 'not found\n');
}

function handle(options: EndpointOptions): (request: IncomingMessage, response: ServerResponse) => void {
  const logged: Logged = new Map();
  return (request, response) => {
    if (options.more?.(request, response) === true) return;
    answer(options, logged, request)
      .catch((error: unknown) => plain(500, `${error instanceof Error ? error.message : String(error)}\n`))
      .then(({ status, type, text }) => {
        response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(request.method === 'HEAD' ? undefined : text);
      })
      .catch(() => response.destroy());
  };
}

/** Serves probes and metrics on node:http. Rejects when the port is taken; port 0 chooses one. */
export async function serveEndpoints(options: EndpointOptions): Promise<Endpoints> {
  const server: Server = createServer(handle(options));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
