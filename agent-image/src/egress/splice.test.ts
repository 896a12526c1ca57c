import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { systemClock } from '@agentfleet/kube';
import { splice } from './connection.ts';

const ends: { destroy(): void }[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end.destroy();
});

/** Both ends of one connection. */
async function connection(): Promise<readonly [near: Socket, far: Socket]> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const near = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
  const [far] = (await once(server, 'connection')) as [Socket];
  server.close();
  for (const end of [near, far]) ends.push(end.on('error', () => undefined));
  return [near, far];
}

const options = { clock: systemClock, idleMs: 60_000 };

it('hands the end of one direction on and leaves the other open', async () => {
  const [client, a] = await connection();
  const [b, server] = await connection();
  const spliced = splice(a, b, options);
  client.end('question');
  server.resume();
  await once(server, 'end');
  server.end('answer');
  const [answer] = (await once(client, 'data')) as [Buffer];
  expect(answer.toString()).toBe('answer');
  await expect(spliced).resolves.toEqual({ forth: 8, back: 6 });
});

it('ends with a side that disconnects after its last byte, and forwards that byte', async () => {
  const [client, a] = await connection();
  const [b, server] = await connection();
  const spliced = splice(a, b, options);
  client.end('question');
  const [question] = (await once(server, 'data')) as [Buffer];
  await once(server.resume(), 'end');
  a.destroy();
  expect(question.toString()).toBe('question');
  await expect(spliced).resolves.toEqual({ forth: 8, back: 0 });
  expect(b.destroyed).toBe(true);
});
