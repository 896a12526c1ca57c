import { createServer as createHttp } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createTransport, plainConfig, silentLog, systemClock } from '@agentfleet/kube';
import { type FakeApiServer, startFakeServer } from '@agentfleet/kube/testing';
import { expect, onTestFinished, test } from 'vitest';
import { resources } from '../base/resources.ts';
import type { KindState, LiveChange } from '../base/wire.ts';
import { Feed } from '../live/feed.ts';
import { Watches } from '../live/watches.ts';
import { createServer } from './server.ts';

/** An API server that knows whoever comes and allows them everything. */
async function startApi() {
  const api = await startFakeServer({ kinds: Object.values(resources).map((resource) => ({ resource })) });
  api.createNamespace('demo');
  const front = createHttp((request, response) => {
    if (!/selfsubject(?:access)?reviews$/.test(request.url ?? '')) return void api.accept(request, response);
    response.setHeader('content-type', 'application/json');
    return void response.end(JSON.stringify({ status: { allowed: true, userInfo: { username: 'ann' } } }));
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    front.closeAllConnections();
    front.close();
    await api.close();
  });
  return { api, url: `http://127.0.0.1:${(front.address() as AddressInfo).port}` };
}

/** Places tasks with one goal and one status. */
function place(api: FakeApiServer, many: number, goal: string, status: object = {}): void {
  const { apiVersion, kind } = resources.AgentTask;
  for (let at = 0; at < many; at += 1) {
    const task = { apiVersion, kind, metadata: { name: `task-${at}`, namespace: 'demo' }, spec: { goal, budget: {} }, status };
    api.place(resources.AgentTask, task);
  }
}

/** Goals of the tasks that a listener has heard of, by key. */
function goalsOf(feed: Feed, room: () => Promise<void>): ReadonlyMap<string, string> {
  const goals = new Map<string, string>();
  const change = ({ upsert, remove }: LiveChange): void => {
    for (const shape of upsert) if ('key' in shape) goals.set(shape.key, shape.goal);
    for (const key of remove) goals.delete(key);
  };
  feed.listen({ change, room, state: () => undefined, end: () => undefined });
  return goals;
}

/** The service before an API server, and who has logged in there. */
async function startDashboard(url: string) {
  const page = new URL('../../client', import.meta.url).pathname;
  const settings = { mode: 'Token', readOnly: false, namespaces: [], trustProxy: false, version: '0' } as const;
  const app = await createServer({ cluster: plainConfig(url), page, ...settings }, { log: silentLog });
  onTestFinished(() => app.close());
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  const answer = await fetch(`${address}/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: 'token' }),
  });
  const { csrf } = (await answer.json()) as { readonly csrf: string };
  return { address, headers: { cookie: answer.headers.getSetCookie()[0]?.split(';')[0] ?? '', 'x-csrf-token': csrf } };
}

/** Events of the stream, until its end. */
async function* eventsOf(address: string, cookie: string): AsyncGenerator<{ readonly event: string; readonly content: unknown }> {
  const { body } = await fetch(`${address}/api/live`, { headers: { cookie } });
  let rest = '';
  for await (const text of body!.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split('\n\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const { event = '', content = '' } = /^event: (?<event>\w+)\ndata: (?<content>.*)$/s.exec(part)?.groups ?? {};
      yield { event, content: JSON.parse(content) };
    }
  }
}

test('a logout ends the streams of all pages of the login', { timeout: 20_000 }, async () => {
  const { address, headers } = await startDashboard((await startApi()).url);
  const others = eventsOf(address, headers.cookie);
  expect((await others.next()).value).toMatchObject({ event: 'state' });
  expect((await fetch(`${address}/api/session`, { method: 'DELETE', headers })).status).toBe(204);
  for await (const { event } of others) expect(event).not.toBe('beat');
});

test('a fleet of more than a socket takes at once comes through, to the first page and to the next', { timeout: 90_000 }, async () => {
  const { api, url } = await startApi();
  const many = 15_000;
  const words = 'w'.repeat(300);
  const status = {
    phase: 'Running',
    run: { progress: { message: words }, pendingApproval: { action: 'a', summary: words, expires: '2026-01-01T00:00:00Z' } },
    conditions: [{ type: 'Stalled', status: 'True', reason: 'R', message: words }],
  };
  place(api, many, words, status);
  const { address, headers } = await startDashboard(url);
  for (const page of ['first', 'next']) {
    const found = new Set<string>();
    for await (const { event, content } of eventsOf(address, headers.cookie)) {
      if (event === 'change') for (const shape of (content as LiveChange).upsert) if ('key' in shape) found.add(shape.key);
      if (found.size === many) break;
    }
    expect(found.size, page).toBe(many);
  }
});

test('tasks are live to a page when it has all that were there, to the first page and to a slow one', async () => {
  const { api, url } = await startApi();
  place(api, 1500, 'old');
  const transport = createTransport(plainConfig(url), { userAgent: 'test' });
  const watches = new Watches(transport, { clock: systemClock, random: Math.random, log: silentLog });
  const feed = await Feed.open(transport, [], watches, systemClock);
  onTestFinished(async () => {
    feed.close();
    await transport.close();
  });
  const follow = (room: () => Promise<void>) => {
    const keys = new Set<string>();
    const seen: (readonly [state: string | undefined, tasks: number])[] = [];
    const change = ({ upsert }: LiveChange): void => {
      for (const shape of upsert) if ('key' in shape) keys.add(shape.key);
    };
    const state = (states: readonly KindState[]): void => {
      seen.push([states.find(({ kind }) => kind === 'AgentTask')?.state, keys.size]);
    };
    feed.listen({ change, state, room, end: () => undefined });
    return { live: () => seen.filter(([word]) => word === 'Live').map(([, tasks]) => tasks), last: () => seen.at(-1)?.[0] };
  };
  const quick = follow(() => Promise.resolve());
  await expect.poll(() => quick.last()).toBe('Live');
  expect(new Set(quick.live())).toEqual(new Set([1500]));
  let makeRoom = (): void => undefined;
  const gate = new Promise<void>((resolve) => (makeRoom = resolve));
  const slow = follow(() => gate);
  expect(slow.last()).toBe('Loading');
  makeRoom();
  await expect.poll(() => slow.last()).toBe('Live');
  expect(new Set(slow.live())).toEqual(new Set([1500]));
});

test('a slow page gets each task as it is when there is room for it, and none that is gone', async () => {
  const { api, url } = await startApi();
  place(api, 1500, 'old');
  const transport = createTransport(plainConfig(url), { userAgent: 'test' });
  const watches = new Watches(transport, { clock: systemClock, random: Math.random, log: silentLog });
  const feed = await Feed.open(transport, [], watches, systemClock);
  onTestFinished(async () => {
    feed.close();
    await transport.close();
  });
  const quick = goalsOf(feed, () => Promise.resolve());
  await expect.poll(() => quick.size).toBe(1500);
  let makeRoom = (): void => undefined;
  const gate = new Promise<void>((resolve) => (makeRoom = resolve));
  const slow = goalsOf(feed, () => gate);
  expect(slow.size).toBe(1000);
  const [sent = '', sentToo = ''] = slow.keys();
  const [late = '', lateToo = ''] = [...quick.keys()].filter((key) => !slow.has(key));
  const ask = async (method: string, key: string, body?: object): Promise<number> => {
    const path = `${url}/apis/${resources.AgentTask.apiVersion}/namespaces/demo/agenttasks/${key.split('/')[1] ?? ''}`;
    const headers = { 'content-type': 'application/merge-patch+json' };
    return (await fetch(path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) })).status;
  };
  for (const key of [sent, late]) expect(await ask('DELETE', key)).toBe(200);
  for (const key of [sentToo, lateToo]) expect(await ask('PATCH', key, { spec: { goal: 'new' } })).toBe(200);
  await expect.poll(() => [quick.size, quick.get(lateToo)]).toEqual([1498, 'new']);
  expect(slow.get(sentToo)).toBe('old');
  makeRoom();
  await expect.poll(() => slow).toEqual(quick);
});
