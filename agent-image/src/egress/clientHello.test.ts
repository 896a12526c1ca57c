import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { connect, type ConnectionOptions } from 'node:tls';
import { beforeAll, describe, expect, test } from 'vitest';
import { maxHelloBytes, readHello } from './connection.ts';

/** The first bytes that node:tls sends. */
async function hello(options: ConnectionOptions): Promise<Buffer> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const accepted = once(server, 'connection');
  const client = connect({ host: '127.0.0.1', port, ...options });
  client.on('error', () => undefined);
  const [socket] = (await accepted) as [Socket];
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  client.destroy();
  socket.destroy();
  server.close();
  return bytes;
}

/** The same handshake in records of a few bytes. */
function inRecords(bytes: Buffer, size: number): Buffer {
  const body = bytes.subarray(5);
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; at += size) {
    const part = body.subarray(at, at + size);
    const header = Buffer.from(bytes.subarray(0, 5));
    header.writeUInt16BE(part.length, 3);
    parts.push(header, part);
  }
  return Buffer.concat(parts);
}

let named: Buffer;
beforeAll(async () => {
  named = await hello({ servername: 'registry.example' });
});

describe('the server name of a ClientHello', () => {
  test.each([
    ['TLS 1.3', { servername: 'a.example', minVersion: 'TLSv1.3' }, 'a.example'],
    ['TLS 1.2', { servername: 'b.example', maxVersion: 'TLSv1.2' }, 'b.example'],
    ['with protocols', { servername: 'c.example', ALPNProtocols: ['h2', 'http/1.1'] }, 'c.example'],
    ['a long name', { servername: `${'x'.repeat(60)}.${'y'.repeat(60)}.example` }, `${'x'.repeat(60)}.${'y'.repeat(60)}.example`],
    ['none', {}, null],
  ] as const)('%s', async (_name, options, serverName) => {
    expect(readHello(await hello(options as ConnectionOptions))).toEqual({ kind: 'TLS', serverName });
  });

  test('is not known before the hello is whole, wherever it is cut', () => {
    for (let at = 0; at < named.length; at += 1) expect(readHello(named.subarray(0, at))).toEqual({ kind: 'More' });
    expect(readHello(Buffer.concat([named, Buffer.from('more')]))).toEqual({ kind: 'TLS', serverName: 'registry.example' });
  });

  test.each([1, 3, 40, 200])('spread over records of %i bytes', (size) => {
    expect(readHello(inRecords(named, size))).toEqual({ kind: 'TLS', serverName: 'registry.example' });
  });

  test('of bytes that are changed never throws, and of lengths that lie is nothing', () => {
    for (let at = 0; at < named.length; at += 1) {
      const changed = Buffer.from(named);
      changed[at] = 255;
      expect(['More', 'NotTLS', 'TLS']).toContain(readHello(changed).kind);
    }
  });

  test.each([
    ['HTTP', Buffer.from('GET / HTTP/1.1\r\n')],
    ['SSH', Buffer.from('SSH-2.0-x\r\n')],
    ['an alert', Buffer.from([21, 3, 1, 0, 2, 1, 0])],
    ['SSLv2', Buffer.from([128, 46, 1, 3, 1])],
    ['a ServerHello', Buffer.from([22, 3, 3, 0, 4, 2, 0, 0, 0])],
    ['an endless hello', Buffer.from([22, 3, 1, 0, 4, 1, (maxHelloBytes >> 16) + 1, 0, 0])],
  ])('%s is not TLS', (_name, bytes) => {
    expect(readHello(bytes)).toEqual({ kind: 'NotTLS' });
  });
});
