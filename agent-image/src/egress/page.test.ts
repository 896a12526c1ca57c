import { once } from 'node:events';
import type { Socket } from 'node:net';
import { systemClock } from '@agentfleet/kube';
import { expect, test } from 'vitest';
import { getPage } from './page.ts';
import { socketPair } from './testing/sockets.ts';

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
