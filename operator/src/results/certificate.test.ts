import { X509Certificate } from 'node:crypto';
import { connect, createServer, type TLSSocket } from 'node:tls';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { bundleOf, isFresh, issue, lifeMs } from './certificate.ts';

const names = ['agentfleet-results.agentfleet-system.svc'];

it('issues what a strict client takes, and only under its own authority', async () => {
  const [first, second] = await Promise.all([issue(names, Date.now()), issue(names, Date.now())]);
  const server = createServer({ key: first.key, cert: first.certificate }, (socket) => void socket.end('hello'));
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const dial = async (ca: string, servername: string): Promise<TLSSocket> => {
    const socket = connect({ host: '127.0.0.1', port, ca, servername });
    await once(socket, 'secureConnect');
    return socket;
  };
  // A bundle in rotation holds both.
  const socket = await dial(second.authority + first.authority, names[0]!);
  expect(socket.authorized).toBe(true);
  socket.destroy();
  await expect(dial(second.authority, names[0]!)).rejects.toThrow();
  await expect(dial(first.authority, 'other.svc')).rejects.toThrow(/altnames/);
  server.close();
});

it('is renewed in the last third of its life, for other names, and with a key of another', async () => {
  const now = Date.now();
  const [issued, other] = await Promise.all([issue(names, now), issue(names, now)]);
  expect(isFresh(issued, names, now)).toBe(true);
  expect(isFresh(issued, names, now + (lifeMs * 2) / 3 + 1000)).toBe(false);
  expect(isFresh(issued, ['x.svc'], now)).toBe(false);
  expect(isFresh({ ...issued, key: other.key }, names, now)).toBe(false);
  for (const broken of ['', 'x']) expect(isFresh({ certificate: broken, key: broken }, names, now)).toBe(false);
  expect(new X509Certificate(issued.authority).ca).toBe(true);
  expect(bundleOf(issued.authority + other.authority + issued.authority, 2)).toEqual([issued.authority, other.authority]);
});
