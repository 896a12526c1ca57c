import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { isInside, limitInsideConnections } from './app.ts';

const own = new Set(['127.0.0.1', '10.0.0.7', 'fd00::7', 'fe80::7']);

describe('whether a connection comes from the pod itself', () => {
  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['127.0.0.9', '127.0.0.1'],
    ['10.0.0.7', '127.0.0.1'],
    ['127.3.0.9', '10.0.0.7'],
    ['10.0.0.7', '10.0.0.7'],
    ['::ffff:127.0.0.9', '::ffff:127.0.0.1'],
    ['::1', '::1'],
    ['fe80::7%eth0', 'fd00::7'],
  ])('%s → %s does', (remote, local) => {
    expect(isInside(remote, local, () => own)).toBe(true);
  });

  it.each([
    ['10.0.0.8', '10.0.0.7'],
    ['::ffff:10.0.0.8', '::ffff:10.0.0.7'],
    ['fd00::8', 'fd00::7'],
  ])('%s → %s does not', (remote, local) => {
    expect(isInside(remote, local, () => own)).toBe(false);
  });
});

it('a caller with many addresses of the loopback has one limit', async () => {
  const server = createServer();
  limitInsideConnections(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets = Array.from({ length: 40 }, (_, n): Socket => connect({ host: '127.0.0.1', port, localAddress: `127.0.0.${n + 2}` }));
  const ended = await Promise.all(
    sockets.map((socket) =>
      Promise.race([
        Promise.any(['close', 'error'].map((event) => once(socket, event))).then(() => 1),
        new Promise<number>((resolve) => {
          setTimeout(() => resolve(0), 500);
        }),
      ]),
    ),
  );
  expect(ended.reduce((sum, one) => sum + one, 0)).toBe(8);
  for (const socket of sockets) socket.destroy();
  server.close();
});
