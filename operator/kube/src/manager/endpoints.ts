import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import { renderChecks, runChecks, type Check } from './checks.ts';

export interface EndpointOptions {
  readonly port: number;
  readonly host?: string;
  /** Checks under /healthz: the process must be restarted when one fails. */
  readonly health?: ReadonlyMap<string, Check>;
  /** Checks under /readyz: it must get no work while one fails. */
  readonly ready?: ReadonlyMap<string, Check>;
  /** Served under /metrics. */
  readonly registry?: Registry | undefined;
}

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

async function checksAnswer(
  endpoint: string,
  checks: ReadonlyMap<string, Check>,
  only: string | undefined,
  verbose: boolean,
): Promise<Answer> {
  const chosen = only === undefined ? checks : new Map([...checks].filter(([name]) => name === only));
  if (only !== undefined && chosen.size === 0) return plain(404, `no check ${JSON.stringify(only)}\n`);
  const { ok, text } = renderChecks(endpoint, await runChecks(chosen), verbose);
  return plain(ok ? 200 : 500, text);
}

async function answer(options: EndpointOptions, request: IncomingMessage): Promise<Answer> {
  if (request.method !== 'GET' && request.method !== 'HEAD') return plain(405, 'use GET\n');
  const url = new URL(request.url ?? '/', 'http://localhost');
  const [, endpoint = '', only] = /^\/([^/]*)(?:\/(.+))?$/.exec(url.pathname) ?? [];
  const verbose = url.searchParams.has('verbose');
  if (endpoint === 'healthz' && options.health) return checksAnswer(endpoint, options.health, only, verbose);
  if (endpoint === 'readyz' && options.ready) return checksAnswer(endpoint, options.ready, only, verbose);
  if (endpoint === 'metrics' && only === undefined && options.registry) {
    return { status: 200, type: options.registry.contentType, text: await options.registry.metrics() };
  }
  return plain(404, 'not found\n');
}

function handle(options: EndpointOptions): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    answer(options, request)
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
