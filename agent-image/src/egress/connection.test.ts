import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { systemClock } from '@agentfleet/kube';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { serveTunnel, type EgressRequest } from './connection.ts';
import { createDialer } from './dial.ts';
import { HostList } from './hosts.ts';
import { certificate, listening, socketPair, textOf } from './testing/sockets.ts';

let pair: Awaited<ReturnType<typeof certificate>>;
const servers: Server[] = [];

beforeAll(async () => {
  pair = await certificate(['registry.example', '127.0.0.1']);
});
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

interface Bench {
  readonly client: Socket;
  readonly requests: EgressRequest[];
  readonly served: Promise<void>;
}

/** A tunnel with a proxy at its end, for a pool that lists the same hosts; every name leads to this machine. */
async function open(hosts: readonly { readonly host: string; readonly port: number }[], resolve = ['127.0.0.1']): Promise<Bench> {
  const [client, tunnel] = await socketPair();
  const requests: EgressRequest[] = [];
  const here = hosts.map(({ port }) => ({ host: '127.0.0.1', port }));
  const guarded = createDialer({ clock: systemClock, env: {}, resolve: () => Promise.resolve(resolve) })({ open: [...hosts, ...here] });
  const served = serveTunnel(tunnel, {
    hosts: new HostList(hosts),
    listedIn: 'spec.policy.network.hosts',
    // A name may not lead here; an address that is listed may.
    dialer: { dial: (to, signal) => guarded.dial(resolve[0] === '127.0.0.1' ? { ...to, host: '127.0.0.1' } : to, signal) },
    clock: systemClock,
    signal: new AbortController().signal,
    onTaken: () => undefined,
    onRequest: (request) => requests.push(request),
  });
  return { client, requests, served };
}

async function tlsServer(onConnection: (socket: TLSSocket) => void): Promise<number> {
  const server = createTlsServer({ ...pair, allowHalfOpen: true }, onConnection);
  servers.push(server);
  return listening(server);
}

async function through(client: Socket, port: number, host = 'registry.example'): Promise<string> {
  client.write(`CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  const [answer] = (await once(client, 'data')) as [Buffer];
  return answer.toString();
}

describe('CONNECT', () => {
  test('joins a listed host, whose certificate is checked end to end, and counts its bytes', async () => {
    const port = await tlsServer((socket) => {
      void textOf(socket).then((said) => socket.end(said.toUpperCase()));
    });
    const { client, requests, served } = await open([{ host: 'Registry.Example', port }]);
    expect(await through(client, port)).toBe('HTTP/1.1 200 Connection established\r\n\r\n');
    const secure = connectTls({ socket: client, servername: 'registry.example', ca: pair.cert });
    await once(secure, 'secureConnect');
    secure.end('half closed');
    expect(await textOf(secure)).toBe('HALF CLOSED');
    client.destroy();
    await served;
    expect(requests).toMatchObject([{ host: 'registry.example', port, decision: 'Allowed' }]);
    expect(requests[0]?.bytesOut).toBeGreaterThan(300);
    expect(requests[0]?.bytesIn).toBeGreaterThan(500);
  }); // prettier-ignore

  test.each([
    ['another host', (port: number) => `CONNECT other.example:${port}`, 'other.example'],
    ['another port', (port: number) => `CONNECT registry.example:${port + 1}`, 'registry.example'],
    ['a host below', (port: number) => `CONNECT a.registry.example:${port}`, 'a.registry.example'],
    ['the address of a listed name', (port: number) => `CONNECT 127.0.0.1:${port}`, '127.0.0.1'],
    ['plain HTTP to another host', (port: number) => `GET http://other.example:${port}/`, 'other.example'],
  ])('%s is refused, with the place where hosts are listed', async (_name, line, host) => {
    const { client, requests, served } = await open([{ host: 'registry.example', port: 443 }]);
    client.write(`${line(443)} HTTP/1.1\r\n\r\n`);
    const answer = await textOf(client);
    expect(answer).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
    expect(answer).toContain('is not listed in spec.policy.network.hosts\n');
    await served;
    expect(requests).toMatchObject([{ host, decision: 'NotListed', bytesOut: 0 }]);
  });

  test.each([
    ['another server name', 'OtherName', (client: Socket) => void connectTls({ socket: client, servername: 'other.example' }).on('error', () => undefined)],
    ['no server name', 'OtherName', (client: Socket) => void connectTls({ socket: client }).on('error', () => undefined)],
    ['bytes that are no TLS', 'NotTLS', (client: Socket) => void client.write('SSH-2.0-client\r\n')],
  ])('after it, %s ends the connection before the server hears of it', async (_name, decision, speak) => {
    const heard: Buffer[] = [];
    const server = createServer((socket) => socket.on('data', (bytes) => heard.push(bytes)));
    servers.push(server);
    const port = await listening(server);
    const { client, requests, served } = await open([{ host: 'registry.example', port }]);
    await through(client, port);
    speak(client);
    await served;
    expect(requests).toMatchObject([{ decision }]);
    expect(heard).toEqual([]);
  }); // prettier-ignore

  test('a listed name that leads to the machine itself or to metadata is refused', async () => {
    for (const address of ['127.0.0.5', '169.254.169.254', '::1', '::ffff:127.0.0.1', 'fe80::1', '0.0.0.0']) {
      const { client, requests, served } = await open([{ host: 'sly.example', port: 443 }], [address]);
      client.write('CONNECT sly.example:443 HTTP/1.1\r\n\r\n');
      expect(await textOf(client)).toContain('sly.example:443 may not be reached: it is listed, and leads to the worker itself');
      await served;
      expect(requests).toMatchObject([{ decision: 'Forbidden' }]);
    }
  }); // prettier-ignore

  test('an unreachable host is reported as such', async () => {
    const { client, requests, served } = await open([{ host: 'gone.example', port: 9 }]);
    client.write('CONNECT gone.example:9 HTTP/1.1\r\n\r\n');
    expect(await textOf(client)).toMatch(/^HTTP\/1\.1 502 /);
    await served;
    expect(requests).toMatchObject([{ decision: 'Unreachable' }]);
  });

  test('an invalid proxy request gets 400', async () => {
    const { client, served } = await open([]);
    client.write('GET / HTTP/1.1\r\n\r\n');
    expect(await textOf(client)).toMatch(/^HTTP\/1\.1 400 /);
    await served;
  });
});

test('plain HTTP in absolute form reaches a listed host with its own Host header', async () => {
  const server = createHttpServer((request, response) => response.end(`${request.headers.host ?? ''} ${request.url ?? ''}`));
  servers.push(server);
  const port = await listening(server);
  const { client, requests, served } = await open([{ host: 'files.example', port }]);
  client.write(`GET http://files.example:${port}/x?y HTTP/1.1\r\nHost: smuggled.example\r\nAccept: */*\r\n\r\n`);
  expect(await textOf(client)).toContain(`files.example:${port} /x?y`);
  client.end();
  await served;
  expect(requests).toMatchObject([{ decision: 'Allowed' }]);
});

test('sixteen connections of megabytes each way at once keep every byte', { timeout: 60_000 }, async () => {
  const port = await tlsServer((socket) => socket.pipe(socket));
  const payload = randomBytes(4 * 1024 * 1024);
  const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
  const echo = async (): Promise<string> => {
    const { client, served } = await open([{ host: 'registry.example', port }]);
    await through(client, port);
    const secure = connectTls({ socket: client, servername: 'registry.example', ca: pair.cert });
    const parts: Buffer[] = [];
    secure.on('data', (part: Buffer) => parts.push(part));
    secure.end(payload);
    await once(secure, 'end');
    client.destroy();
    await served;
    return digest(Buffer.concat(parts));
  };
  const digests = await Promise.all(Array.from({ length: 16 }, echo));
  expect(new Set(digests)).toEqual(new Set([digest(payload)]));
});

test('a worker with a proxy dials through it, unless the host is exempt', async () => {
  const asked: string[] = [];
  const server = createServer((socket) => {
    socket.once('data', (bytes: Buffer) => {
      asked.push(bytes.toString());
      socket.end('HTTP/1.1 200 OK\r\n\r\nfirst words');
    });
  });
  servers.push(server);
  const port = await listening(server);
  const env = { HTTPS_PROXY: `http://user:p%40ss@127.0.0.1:${port}`, NO_PROXY: 'localhost,.direct.example' };
  const resolve = (name: string): Promise<readonly string[]> =>
    name === 'public.example' ? Promise.resolve(['192.168.1.1', '1.1.1.1']) : Promise.reject(new Error('resolved here'));
  const dialer = createDialer({ clock: systemClock, env, resolve })({ open: [{ host: 'registry.example', port: 443 }] });
  const { signal } = new AbortController();
  expect(await textOf(await dialer.dial({ host: 'registry.example', port: 443 }, signal))).toBe('first words');
  expect(asked[0]).toMatch(/^CONNECT registry\.example:443 HTTP\/1\.1\r\n/);
  expect(asked[0]).toContain(`Proxy-Authorization: Basic ${Buffer.from('user:p@ss').toString('base64')}`);
  expect(await textOf(await dialer.dial({ host: 'public.example', port: 443 }, signal))).toBe('first words');
  expect(asked[1], 'what nobody lists is judged here, and the proxy gets the address').toMatch(/^CONNECT 1\.1\.1\.1:443 HTTP/);
  for (const host of ['10.96.0.1', '0x7f.1', '::1', '169.254.169.254'])
    await expect(dialer.dial({ host, port: 443 }, signal)).rejects.toThrow('may not be reached');
  await expect(dialer.dial({ host: 'a.direct.example', port: 443 }, signal)).rejects.toThrow('resolved here');
  expect(asked).toHaveLength(2);
});

test.for([
  ['refuses', 'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n', 'gave no connection: status 407'],
  ['speaks no HTTP', 'hello\r\n\r\n', 'gave no connection: Parse Error'],
  ['closes', '', 'gave no connection: socket hang up'],
] as const)('a proxy of the worker that %s gives no connection', async ([, words, why]) => {
  const server = createServer((socket) => void socket.once('data', () => socket.end(words)));
  servers.push(server);
  const env = { HTTPS_PROXY: `http://127.0.0.1:${await listening(server)}` };
  const dialer = createDialer({ clock: systemClock, env })({ open: [{ host: 'registry.example', port: 443 }] });
  await expect(dialer.dial({ host: 'registry.example', port: 443 }, new AbortController().signal)).rejects.toThrow(why);
});

test('what comes through the proxy of a worker after its answer is all there', async () => {
  const server = createServer((socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      setTimeout(() => socket.end('late words'), 50);
    });
  });
  servers.push(server);
  const env = { HTTPS_PROXY: `http://127.0.0.1:${await listening(server)}` };
  const dialer = createDialer({ clock: systemClock, env })({ open: [{ host: 'registry.example', port: 443 }] });
  expect(await textOf(await dialer.dial({ host: 'registry.example', port: 443 }, new AbortController().signal))).toBe('late words');
});
