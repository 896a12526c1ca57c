import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { connect } from './connect.ts';
import type { FleetClient } from './public.ts';

/** The results API as docs/reference/results.md describes it. */
const base = '/apis/results.agentfleet.dev/v1alpha1/namespaces/demo/agenttasks';
const patch = 'diff --git a/x b/x\n';
const sha256 = createHash('sha256').update(patch).digest('hex');
const line = (seq: number, type = 'Note'): string => `${JSON.stringify({ seq, at: 't', type })}\n`;
const answers: Readonly<Record<string, string>> = {
  [`${base}/one/artifacts`]: JSON.stringify({
    items: [
      { name: 'change.patch', bytes: patch.length, sha256 },
      { name: 'broken', bytes: 1, sha256 },
      { name: 'cut', bytes: 2, sha256 },
    ],
  }),
  [`${base}/one/artifacts/change.patch`]: patch,
  [`${base}/one/artifacts/broken`]: 'x',
  [`${base}/one/conversation?follow=true`]: `${line(1)}${line(4)}${line(5, 'Pause')}`,
  [`${base}/one/conversation?since=5&follow=true`]: line(7).trimEnd(),
  [`${base}/broken/conversation?since=1&follow=true`]: `${line(2)}${line(3)}`,
  '/apis/agentfleet.dev/v1alpha1/namespaces/demo/agenttasks/one': JSON.stringify({ metadata: { name: 'one' } }),
  [`${base}/one/log`]: `${line(1)}${line(2)}`,
};

let server: Server;
let client: FleetClient;
let sent = false;
beforeAll(async () => {
  server = createServer(({ url }, response) => {
    if (url === `${base}/broken/conversation?follow=true`) {
      response.writeHead(200).write(`${line(1)}{"seq":2,"ty`, () => setTimeout(() => response.destroy(), 50));
      return;
    }
    if (url === `${base}/goes-on/log?follow=true`) {
      response.writeHead(200).write(`${line(1)}{"seq":2,"ty`);
      return;
    }
    if (url === `${base}/one/artifacts/cut`) {
      response.writeHead(200).write('x', () => (sent = true));
      return;
    }
    const found = answers[url ?? ''];
    response.writeHead(found === undefined ? 404 : 200).end(found ?? '404 page not found');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = await connect({ server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, namespace: 'demo' });
});
afterAll(async () => {
  await client.close();
  server.close();
});

async function all<T>(lines: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const one of lines) found.push(one);
  return found;
}

test('an artifact is held against its hash', async () => {
  expect(Buffer.from(await client.artifact('one', 'change.patch')).toString()).toBe(patch);
  await expect(client.artifact('one', 'broken')).rejects.toMatchObject({ code: 'AF_CLIENT_ARTIFACT_DAMAGED' });
  await expect(client.artifact('one', 'none')).rejects.toMatchObject({ code: 'AF_CLIENT_NOT_FOUND' });
});

test('a conversation continues after an invisible pause', async () => {
  expect((await all(client.conversation('one', { follow: true }))).map(({ seq }) => seq)).toEqual([1, 4, 7]);
  expect(await all(client.log('one'))).toHaveLength(2);
});

test('a conversation that is followed continues behind the last entry where a connection breaks', async () => {
  expect((await all(client.conversation('broken', { follow: true }))).map(({ seq }) => seq)).toEqual([1, 2, 3]);
});

test('many logs that are followed keep no other call waiting', async () => {
  const followed = Array.from({ length: 6 }, () => client.log('goes-on', { follow: true }));
  for (const lines of followed) expect((await lines.next()).value).toMatchObject({ seq: 1 });
  expect(await client.get('one')).toMatchObject({ metadata: { name: 'one' } });
});

test('a log that is followed ends at its signal, between two lines as well; an artifact throws then', async () => {
  const stop = new AbortController();
  const lines = client.log('goes-on', { follow: true, signal: stop.signal });
  expect((await lines.next()).value).toMatchObject({ seq: 1 });
  const next = lines.next();
  stop.abort();
  expect(await next).toEqual({ done: true, value: undefined });
  const cut = new AbortController();
  const artifact = client.artifact('one', 'cut', cut.signal).catch((error: unknown) => error);
  await vi.waitFor(() => expect(sent).toBe(true));
  cut.abort();
  expect(await artifact).toMatchObject({ code: 'AF_CLIENT_SERVER', message: expect.stringContaining('abort') as string });
});

test('a cluster without the results API is distinguished', async () => {
  await expect(client.artifacts('two')).rejects.toMatchObject({ code: 'AF_CLIENT_RESULTS_MISSING' });
});
