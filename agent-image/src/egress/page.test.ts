import { once } from 'node:events';
import { createServer } from 'node:https';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { systemClock } from '@agentfleet/kube';
import { expect, test } from 'vitest';
import { getPage } from './page.ts';
import { certificate, socketPair } from './testing/sockets.ts';

test('a server that never answers the handshake keeps no connection, and its reset ends nothing', async () => {
  const [near, far]: readonly [Socket, Socket] = await socketPair();
  const stop = new AbortController();
  const hosts = [{ host: 'docs.example', port: 443 }];
  const dialer = { dial: () => Promise.resolve(near) };
  const page = getPage('https://docs.example/', { hosts, dialer, maxBytes: 1, seconds: 60, clock: systemClock, signal: stop.signal });
  const refused = expect(page).rejects.toThrow('enough');
  await once(far, 'data');
  const closed = once(near, 'close');
  stop.abort(new Error('enough'));
  await refused;
  expect(near.destroyed).toBe(true);
  far.resetAndDestroy();
  await closed;
});

test('a server is believed by its name and a trusted authority alone', async () => {
  const pair = await certificate(['docs.example']);
  const server = createServer(pair, (_, response) => response.end('words')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const dialer = { dial: () => Promise.resolve(connect({ host: '127.0.0.1', port, allowHalfOpen: true })) };
  const page = (host: string, trusted = {}): ReturnType<typeof getPage> => {
    const hosts = [{ host, port: 443 }];
    const { signal } = new AbortController();
    return getPage(`https://${host}/`, { hosts, dialer, maxBytes: 64, seconds: 60, clock: systemClock, signal, ...trusted });
  };
  const trusted = { authorities: pair.cert };
  expect(String((await page('docs.example', trusted)).body)).toBe('words');
  await expect(page('other.example', trusted)).rejects.toThrow(/other\.example/);
  await expect(page('docs.example')).rejects.toThrow(/certificate|self-signed/);
  server.closeAllConnections();
  server.close();
});
