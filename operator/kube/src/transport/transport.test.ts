import { getEventListeners } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import { describe, expect, it, vi } from 'vitest';
import { ResourceClient } from '../client/client.ts';
import { isKubeError } from '../runtime/errors.ts';
import { testBed, widgets } from '../testing/widget.ts';
import { parseRetryAfter } from './apiError.ts';
import { plainConfig } from './kubeconfig.ts';
import { createTransport, fencedTransport } from './transport.ts';
import type { ClusterConfig } from './types.ts';

const name = { namespace: 'default', name: 'a' };

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('transport', () => {
  it('reuses its connections', async () => {
    await using bed = await testBed();
    const sockets = new Set<string>();
    const transport = createTransport(bed.server.config, { userAgent: 'x/1', connections: 4 });
    const server = createServer((request, response) => {
      sockets.add(`${request.socket.remotePort}`);
      response.end('{}');
    });
    const pooled = createTransport(plainConfig(await listening(server)), { userAgent: 'x/1', connections: 4 });
    await Promise.all(Array.from({ length: 200 }, () => pooled.request({ method: 'GET', path: '/x' })));
    expect(sockets.size).toBeLessThanOrEqual(4);
    await pooled.close();
    await transport.close();
    server.close();
  });

  it('waits as long as a 429 asks, for a POST too; and retries a 503 with Retry-After only when that is safe', async () => {
    await using bed = await testBed();
    const client = new ResourceClient(bed.transport, widgets);
    let left = 2;
    bed.server.onRequest = () => (left-- > 0 ? { kind: 'error', code: 429, reason: 'TooManyRequests', retryAfterSeconds: 0 } : undefined);
    await client.create({ metadata: name });
    expect(bed.server.requests).toHaveLength(3);
    const fault = { kind: 'error', code: 503, reason: 'ServiceUnavailable', retryAfterSeconds: 0 } as const;
    left = 1;
    bed.server.onRequest = () => (left-- > 0 ? fault : undefined);
    await client.get(name);
    left = 1;
    await expect(client.create({ metadata: { ...name, name: 'b' } })).rejects.toMatchObject({ code: 503, retryable: true });
  });

  it('repeats a GET whose connection broke, never a write', async () => {
    await using bed = await testBed();
    const client = new ResourceClient(bed.transport, widgets);
    await client.create({ metadata: name });
    let left = 1;
    bed.server.onRequest = () => (left-- > 0 ? { kind: 'before' } : undefined);
    await client.get(name);
    bed.server.onRequest = (request) => (request.verb === 'patch' ? { kind: 'lost-response' } : undefined);
    await expect(client.patch(name, { spec: { size: 3 } })).rejects.toMatchObject({ code: 'AF_API_UNREACHABLE' });
    expect(bed.server.requests.filter((request) => request.verb === 'patch')).toHaveLength(1);
    expect((await client.get(name)).spec).toEqual({ size: 3 });
  });

  it('stops retrying when the budget is spent', async () => {
    await using bed = await testBed();
    bed.server.onRequest = () => ({ kind: 'error', code: 429, reason: 'TooManyRequests', retryAfterSeconds: 0 });
    const client = new ResourceClient(bed.transport, widgets);
    for (let i = 0; i < 20; i += 1) await client.get(name).catch(() => {});
    expect(bed.server.requests.length).toBeLessThanOrEqual(50 + 20);
  });

  it('gives up after its time limit, and at once on abort', async () => {
    await using bed = await testBed();
    bed.server.onRequest = () => ({ kind: 'delay', ms: 500 });
    const client = new ResourceClient(bed.transport, widgets);
    await expect(client.get(name, { timeoutMs: 30 })).rejects.toMatchObject({ code: 'AF_API_TIMEOUT' });
    const stop = new AbortController();
    const pending = client.get(name, { signal: stop.signal });
    setTimeout(() => stop.abort(), 20);
    await expect(pending).rejects.toMatchObject({ code: 'AF_STOPPED' });
  });

  it('ends a request that waits for a connection at its time limit or on abort, and does not send it later', async () => {
    const sent: string[] = [];
    const held: ServerResponse[] = [];
    const server = createServer(({ url = '' }, response) => {
      sent.push(url);
      if (url === '/held') held.push(response);
      else response.end('{}');
    });
    const transport = createTransport(plainConfig(await listening(server)), { userAgent: 'x/1', connections: 1 });
    const first = transport.request({ method: 'GET', path: '/held' });
    await vi.waitFor(() => expect(held).toHaveLength(1));
    const late = transport.request({ method: 'GET', path: '/late', timeoutMs: 30 });
    const stop = new AbortController();
    const stopped = transport.request({ method: 'POST', path: '/stopped', signal: stop.signal });
    setTimeout(() => stop.abort(), 20);
    const ended = await Promise.allSettled([late, stopped]);
    expect(ended).toMatchObject([{ reason: { code: 'AF_API_TIMEOUT' } }, { reason: { code: 'AF_STOPPED' } }]);
    held[0]?.end('{}');
    await first;
    await transport.request({ method: 'GET', path: '/next' });
    expect(sent).toEqual(['/held', '/next']);
    await transport.close();
    server.close();
  });

  it('ends a stream that is silent when its signal is aborted, and lets go of the signal when it is closed', async () => {
    const server = createServer((_, response) => response.writeHead(200).write('x'));
    const transport = createTransport(plainConfig(await listening(server)), { userAgent: 'x/1' });
    const stop = new AbortController();
    const request = { method: 'GET', path: '/x', lane: 'watch', signal: stop.signal } as const;
    const closed = await transport.stream(request);
    await closed.body[Symbol.asyncIterator]().next();
    closed.close();
    await vi.waitFor(() => expect(getEventListeners(stop.signal, 'abort')).toEqual([]));
    const chunks = (await transport.stream(request)).body[Symbol.asyncIterator]();
    await chunks.next();
    stop.abort();
    await expect(chunks.next()).rejects.toThrow('abort');
    await transport.close();
    server.close();
  });

  it('lets reads through a fence that is down, and no write; not even a retry', async () => {
    await using bed = await testBed();
    let remaining = 1000;
    const fenced = new ResourceClient(fencedTransport(bed.transport, { remainingMs: () => remaining }), widgets);
    await fenced.create({ metadata: name });
    bed.server.onRequest = () => {
      remaining = 0;
      return { kind: 'error', code: 429, reason: 'TooManyRequests', retryAfterSeconds: 0 };
    };
    const sent = bed.server.requests.length;
    await expect(fenced.patch(name, { spec: { size: 1 } })).rejects.toMatchObject({ code: 'AF_FENCED' });
    expect(bed.server.requests).toHaveLength(sent + 1);
    bed.server.onRequest = undefined;
    await expect(fenced.delete(name)).rejects.toSatisfy((error) => isKubeError(error, 'AF_FENCED'));
    await fenced.get(name);
    remaining = 40;
    bed.server.onRequest = () => ({ kind: 'delay', ms: 500 });
    await expect(fenced.patch(name, { spec: { size: 1 } })).rejects.toMatchObject({ code: 'AF_API_TIMEOUT' });
  });

  it('reads the token again when the server refuses it', async () => {
    const seen: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      seen.push(request.headers.authorization);
      const ok = request.headers.authorization === 'Bearer new';
      response.writeHead(ok ? 200 : 401).end(ok ? '{}' : '{"kind":"Status","reason":"Unauthorized"}');
    });
    let token = 'old';
    const config: ClusterConfig = {
      server: await listening(server),
      credentials: async () => Promise.resolve({ tls: {}, authorization: `Bearer ${token}` }),
    };
    const transport = createTransport(config, { userAgent: 'x/1' });
    await expect(transport.request({ method: 'GET', path: '/' })).rejects.toMatchObject({ code: 401, reason: 'Unauthorized' });
    token = 'new';
    await transport.request({ method: 'POST', path: '/', body: {} });
    expect(seen).toEqual(['Bearer old', 'Bearer old', 'Bearer old', 'Bearer new']);
    await transport.close();
    server.close();
  });

  it('counts requests by code, method and host', async () => {
    await using bed = await testBed();
    const registry = new Registry();
    const transport = createTransport(bed.server.config, { userAgent: 'x/1', registry });
    const client = new ResourceClient(transport, widgets);
    await client.create({ metadata: name });
    await client.get({ ...name, name: 'none' }).catch(() => {});
    const text = await registry.metrics();
    expect(text).toContain(`rest_client_requests_total{code="201",method="POST",host="${transport.host}"} 1`);
    expect(text).toContain(`rest_client_requests_total{code="404",method="GET",host="${transport.host}"} 1`);
    expect(bed.server.requests[0]?.userAgent).toBe('x/1');
    await transport.close();
  });

  it('reads Retry-After as seconds or as a date', () => {
    expect(parseRetryAfter('2', 0)).toBe(2000);
    expect(parseRetryAfter('Thu, 01 Jan 1970 00:00:05 GMT', 2000)).toBe(3000);
    expect(parseRetryAfter('soon', 0)).toBeUndefined();
  });
});
