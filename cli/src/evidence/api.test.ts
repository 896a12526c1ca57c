import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createTransport, plainConfig } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import { expect, onTestFinished, test } from 'vitest';
import { ResultsApi } from './artifact.ts';

const task = { metadata: { name: 'one', namespace: 'team' } } as AgentTask;

/** A results API that sends one entry at each request, and breaks off the first connections; it may refuse those that follow. */
async function breaking(times: number, later = 200) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(new URL(request.url ?? '', 'http://localhost').searchParams.get('since') ?? '');
    if (asked.length > times && later !== 200) {
      response.writeHead(later).end();
      return;
    }
    // A line separator of Unicode ends no line of JSON.
    const entry = { type: 'User', seq: asked.length, at: '2030-01-01T00:00:00Z', origin: 'Notice', text: `line\u2028${asked.length}` };
    response.writeHead(200).write(`${JSON.stringify(entry)}\n`);
    if (asked.length <= times) response.write('{"type":"Us', () => setTimeout(() => response.destroy(), 50));
    else response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const transport = createTransport(plainConfig(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), { userAgent: 'test' });
  onTestFinished(async () => {
    await transport.close();
    server.close();
  });
  return { asked, api: new ResultsApi(transport, new AbortController().signal) };
}

async function texts(entries: AsyncIterable<object>): Promise<readonly unknown[]> {
  const all: unknown[] = [];
  for await (const entry of entries) all.push('text' in entry ? entry.text : entry);
  return all;
}

test('a conversation that is followed goes on behind the last entry where a connection breaks', async () => {
  const { asked, api } = await breaking(1);
  expect(await texts(api.conversation(task, { follow: true }))).toEqual(['line\u20281', 'line\u20282']);
  expect(asked).toEqual(['', '1']);
});

test('one that is only read ends with the error', async () => {
  const { asked, api } = await breaking(1);
  await expect(texts(api.conversation(task))).rejects.toThrow();
  expect(asked).toEqual(['']);
});

test('one whose login is over while it is followed is not asked for again', async () => {
  const { asked, api } = await breaking(1, 401);
  await expect(texts(api.conversation(task, { follow: true }))).rejects.toMatchObject({ code: 401 });
  // Once more by credentials that are read anew.
  expect(asked).toEqual(['', '1', '1']);
});
