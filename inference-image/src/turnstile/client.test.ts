// An engine's side over HTTP, with a turnstile that the test plays.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { NoTurnError, TurnstileClient } from './client.ts';
import type { Asking, Greeting, UseLine } from './wire.ts';

const patience = { timeout: 30_000, interval: 10 };
const { signal } = new AbortController();

describe('a member of a turnstile', () => {
  let server: Server;
  let client: TurnstileClient;
  let asked: Asking[];
  let greeted: Greeting[];
  let ended: string[];
  let streams: ServerResponse[];
  let boot: string;
  beforeEach(async () => {
    [asked, greeted, ended, streams, boot] = [[], [], [], [], 'one'];
    server = createServer((request, response) => void serve(request, response)).listen(0, '127.0.0.1');
    await vi.waitFor(() => expect(server.listening).toBe(true), patience);
    const turnstile = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    let ids = 0;
    client = new TurnstileClient({ turnstile, self: { item: 'a', pod: 'a-0', engine: 'http://a:8000' }, newId: () => `use${++ids}` });
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const say = (state: UseLine['state'], which = streams.length - 1): void => {
    const line: UseLine = { state, boot, members: [{ item: 'b', pod: 'b-0', engine: 'http://b:8000', state: 'Asleep' }] };
    streams[which]?.write(`${JSON.stringify(line)}\n`);
  };
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'DELETE') {
      ended.push(request.url ?? '');
      response.writeHead(204).end();
    } else if (request.url === '/v1/members') {
      greeted.push((await json(request)) as Greeting);
      response.end(JSON.stringify({ boot, load: `${boot}-1`, members: [] }));
    } else {
      asked.push((await json(request)) as Asking);
      streams.push(response);
      response.writeHead(200);
      say('Waiting');
    }
  }

  test('runs when it is granted, and says that it is over', async () => {
    const run = client.use(() => Promise.resolve('done'), { signal, withinMs: 30_000 });
    await vi.waitFor(() => expect(asked).toHaveLength(1), patience);
    expect(asked[0]).toEqual({
      id: 'use1',
      purpose: 'Serve',
      held: false,
      item: 'a',
      pod: 'a-0',
      engine: 'http://a:8000',
      boot: null,
      members: [],
    });
    say('Granted');
    expect(await run).toBe('done');
    await vi.waitFor(() => expect(ended).toEqual(['/v1/uses/use1']), patience);
  });

  test('tells a turnstile that starts anew what is under way, and who else was there', async () => {
    const work = Promise.withResolvers<string>();
    const run = client.use(() => work.promise, { signal, withinMs: 30_000 });
    await vi.waitFor(() => expect(asked).toHaveLength(1), patience);
    say('Granted');
    await new Promise((resolve) => setImmediate(resolve));
    streams[0]?.end();
    await vi.waitFor(() => expect(asked).toHaveLength(2), patience);
    expect(asked[1]).toMatchObject({ id: 'use1', held: true, boot: 'one', members: [{ pod: 'b-0', state: 'Asleep' }] });
    work.resolve('done');
    expect(await run).toBe('done');
  });

  test('gives up after its time with the reason, and waits no longer than who asked', async () => {
    const late = client.use(() => Promise.resolve(1), { signal, withinMs: 400 });
    await expect(late).rejects.toThrow(NoTurnError);
    await expect(late).rejects.toThrow('no turn on the GPU within 400 ms: other engines have the GPU');
    const left = new AbortController();
    const run = client.use(() => Promise.resolve(1), { signal: left.signal, withinMs: 30_000 });
    left.abort(new Error('the caller left'));
    await expect(run).rejects.toThrow();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await expect(client.use(() => Promise.resolve(1), { signal, withinMs: 50 })).rejects.toThrow('the turnstile does not answer');
  });

  test('says that it is there, which process it knows, and that it ends', async () => {
    expect(client.load).toBe(null);
    client.start();
    await vi.waitFor(() => expect(client.load).toBe('one-1'), patience);
    expect(greeted[0]).toMatchObject({ pod: 'a-0', load: null, boot: null });
    await vi.waitFor(() => expect(greeted[1]).toMatchObject({ load: 'one-1', boot: 'one' }), patience);
    await client.close();
    expect(ended).toEqual(['/v1/members/a-0']);
  });
});
