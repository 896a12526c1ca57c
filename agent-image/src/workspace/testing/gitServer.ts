import { execFile, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '@agentfleet/kube';
import { createDialer, type Dialer } from '../../egress/index.ts';

const run = promisify(execFile);

export interface GitServer {
  /** `https://127.0.0.1:<port>`. */
  readonly origin: string;
  /** PEM file of the authority that signed the server's certificate. */
  readonly authorities: string;
  /** Lines `METHOD path`, and the Authorization header when present. */
  readonly requests: readonly string[];
  close(): Promise<void>;
}

/** A dialer that reaches these origins on the loopback, as if a pool listed them, and public addresses. */
export function dialerTo(...origins: readonly string[]): Dialer {
  const open = origins.map((origin) => ({ host: new URL(origin).hostname, port: Number(new URL(origin).port || 443) }));
  return createDialer({ clock: systemClock, env: {} })({ open });
}

/** Answers some requests itself; false lets git answer. */
export type Intercept = (request: IncomingMessage, response: ServerResponse) => boolean;

/** The repositories below a folder over https, by git's own `http-backend`. */
export async function startGitServer(folder: string, root: string, intercept: Intercept = () => false): Promise<GitServer> {
  const { key, cert } = await selfSigned(folder);
  const backend = join((await run('git', ['--exec-path'])).stdout.trim(), 'git-http-backend');
  const requests: string[] = [];
  const server = createServer({ key: await readFile(key), cert: await readFile(cert) }, (request, response) => {
    requests.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''}`.trim());
    if (!intercept(request, response)) serve(backend, root, request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { origin, authorities: cert, requests, close: () => close(server) };
}

function close(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}

/** A certificate that is its own authority, for an address. */
export async function selfSigned(folder: string, address = '127.0.0.1'): Promise<{ readonly key: string; readonly cert: string }> {
  const [key, cert] = [join(folder, 'server.key'), join(folder, 'server.crt')];
  const names = ['-subj', `/CN=${address}`, '-addext', `subjectAltName=IP:${address},DNS:localhost`];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '30'];
  await run('openssl', ['req', ...kind, ...names, '-keyout', key, '-out', cert]);
  return { key, cert };
}

/** RFC 3875: headers, an empty line, the body. */
function serve(backend: string, root: string, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'https://server');
  const child = spawn(backend, {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {
      PATH: process.env['PATH'],
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      PATH_INFO: pathname,
      QUERY_STRING: searchParams.toString(),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      REMOTE_ADDR: '127.0.0.1',
    },
  });
  child.stdin.on('error', () => undefined);
  request.pipe(child.stdin);
  const parts: Buffer[] = [];
  child.stdout.on('data', (part: Buffer) => parts.push(part));
  child.once('close', () => {
    const answer = Buffer.concat(parts);
    const end = answer.indexOf('\r\n\r\n');
    let status = 200;
    for (const line of answer.subarray(0, end).toString('latin1').split('\r\n')) {
      const colon = line.indexOf(':');
      const [name, value] = [line.slice(0, colon), line.slice(colon + 1).trim()];
      if (name === 'Status') status = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.writeHead(status).end(answer.subarray(end + 4));
  });
}
