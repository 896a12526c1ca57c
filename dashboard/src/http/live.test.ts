import { createServer as createHttp } from 'node:http';
import type { AddressInfo } from 'node:net';
import { plainConfig, silentLog } from '@agentfleet/kube';
import { startFakeServer } from '@agentfleet/kube/testing';
import { expect, onTestFinished, test } from 'vitest';
import { resources } from '../base/resources.ts';
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
