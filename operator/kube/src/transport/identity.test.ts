import { execFile } from 'node:child_process';
import { createServer, type IncomingMessage } from 'node:http';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { ResourceClient } from '../client/client.ts';
import { startFakeServer } from '../testing/server.ts';
import { VirtualClock } from '../testing/virtualClock.ts';
import { testBed, widgets } from '../testing/widget.ts';
import { createTransport } from './transport.ts';
import type { ClusterConfig } from './types.ts';

interface Identity {
  readonly key: string;
  readonly cert: string;
  readonly ca: string;
}

/** A certificate for the loopback that is its own authority. */
async function identity(): Promise<Identity> {
  const folder = await mkdtemp(join(tmpdir(), 'kube-tls-'));
  try {
    const [key, cert] = [join(folder, 'key'), join(folder, 'cert')];
    const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'];
    await promisify(execFile)('openssl', ['req', ...kind, ...names, '-keyout', key, '-out', cert]);
    const pem = await readFile(cert, 'utf8');
    return { key: await readFile(key, 'utf8'), cert: pem, ca: pem };
  } finally {
    await rm(folder, { recursive: true });
  }
}

const kinds = [{ resource: widgets, statusSubresource: true, generation: true }];
const name = { namespace: 'default', name: 'a' };

describe('who we are and whom we trust', () => {
  let old: Identity;
  let fresh: Identity;
  beforeAll(async () => {
    [old, fresh] = await Promise.all([identity(), identity()]);
  }, 60_000);

  it('speaks TLS with the authority of the cluster and with no other', async () => {
    const server = await startFakeServer({ kinds, tls: fresh });
    const trusting = createTransport(server.config, { userAgent: 'x/1' });
    await new ResourceClient(trusting, widgets).create({ metadata: name });
    const config: ClusterConfig = { server: server.url, credentials: () => Promise.resolve({ tls: { ca: old.ca } }) };
    const wary = createTransport(config, { userAgent: 'x/1' });
    await expect(new ResourceClient(wary, widgets).get(name)).rejects.toMatchObject({ code: 'AF_API_UNREACHABLE' });
    await trusting.close();
    await wary.close();
    await server.close();
  });

  it('reaches the server through the proxy of the context, with its TLS end to end', async () => {
    const server = await startFakeServer({ kinds, tls: fresh });
    const tunnels: string[] = [];
    const proxy = createServer().on('connect', ({ url = '', headers }: IncomingMessage, client: Duplex, head: Buffer) => {
      tunnels.push(`${url} ${headers['proxy-authorization'] ?? ''}`);
      const { hostname, port } = new URL(`http://${url}`);
      const upstream = connect(Number(port), hostname, () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        upstream.write(head);
        upstream.pipe(client).pipe(upstream);
      });
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const address = `ann:secret@127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const transport = createTransport({ ...server.config, proxy: `http://${address}` }, { userAgent: 'x/1' });
    await new ResourceClient(transport, widgets).create({ metadata: name });
    expect((await new ResourceClient(transport, widgets).get(name)).metadata.name).toBe('a');
    const basic = `Basic ${Buffer.from('ann:secret').toString('base64')}`;
    expect(new Set(tunnels)).toEqual(new Set([`${new URL(server.url).host} ${basic}`]));
    await transport.close();
    proxy.close();
    await server.close();
  });

  it('reads the authority again when the server shows a certificate of a new one, and loses no write', async () => {
    const server = await startFakeServer({ kinds, tls: fresh });
    let ca = old.ca;
    let reads = 0;
    const credentials = (): Promise<{ tls: { ca: string } }> => {
      const tls = { ca };
      reads += 1;
      ca = fresh.ca; // replaced on disk after the first read
      return Promise.resolve({ tls });
    };
    const transport = createTransport({ server: server.url, credentials }, { userAgent: 'x/1' });
    await new ResourceClient(transport, widgets).create({ metadata: name });
    expect(reads).toBe(2);
    expect(server.writes.filter(({ verb }) => verb === 'create')).toHaveLength(1);
    await transport.close();
    await server.close();
  });

  it('a token that expired is read again once; a login that fails for good is the caller’s to hear', async () => {
    let valid = 'Bearer 1';
    let known = 'Bearer 1';
    const server = await startFakeServer({ kinds, authorization: () => valid });
    const credentials = (): Promise<{ tls: object; authorization: string }> => Promise.resolve({ tls: {}, authorization: known });
    const transport = createTransport({ server: server.url, credentials }, { userAgent: 'x/1' });
    const client = new ResourceClient(transport, widgets);
    await client.create({ metadata: name });
    valid = 'Bearer 2';
    await expect(client.get(name)).rejects.toMatchObject({ code: 401 });
    known = 'Bearer 2';
    await client.patch(name, { spec: { size: 1 } });
    await transport.close();
    await server.close();
  });

  it('goes on with what it has while the file cannot be read, and reports it when that is refused', async () => {
    const clock = new VirtualClock();
    await using bed = await testBed();
    let broken = false;
    const credentials = (): Promise<{ tls: object }> => (broken ? Promise.reject(new Error('EACCES')) : Promise.resolve({ tls: {} }));
    const transport = createTransport({ server: bed.server.url, credentials }, { userAgent: 'x/1', clock });
    const client = new ResourceClient(transport, widgets);
    await client.create({ metadata: name });
    broken = true;
    await clock.advance(61_000);
    await client.get(name);
    bed.server.onRequest = () => ({ kind: 'error', code: 401, reason: 'Unauthorized' });
    await expect(client.get(name)).rejects.toMatchObject({ code: 'AF_KUBE_CONFIG' });
    await transport.close();
  });
});
