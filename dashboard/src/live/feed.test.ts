import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { createTransport, plainConfig, silentLog, systemClock } from '@agentfleet/kube';
import { expect, onTestFinished, test } from 'vitest';
import { Feed } from './feed.ts';
import { Watches } from './watches.ts';

interface Review {
  readonly spec?: { readonly resourceAttributes: { readonly namespace?: string } };
}

test('of many namespaces those are followed in which the user may see tasks, wherever they stand in the list', async () => {
  const items = Array.from({ length: 150 }, (_, at) => ({ metadata: { name: `team-${at}` } }));
  const server = createServer((request, response) => {
    void (async () => {
      const { url = '' } = request;
      const body = request.method === 'POST' ? ((await json(request)) as Review) : {};
      response.setHeader('content-type', 'application/json');
      if (url.includes('watch=')) return response.flushHeaders();
      const allowed = body.spec?.resourceAttributes.namespace === 'team-141';
      const list = url.startsWith('/api/v1/namespaces?') ? items : [];
      return response.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items: list, status: { allowed } }));
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const transport = createTransport(plainConfig(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), { userAgent: 'test' });
  const watches = new Watches(transport, { clock: systemClock, random: Math.random, log: silentLog });
  const feed = await Feed.open(transport, [], watches, systemClock);
  onTestFinished(async () => {
    feed.close();
    await transport.close();
    server.closeAllConnections();
    server.close();
  });
  expect(feed.states().map(({ kind, namespaces }) => [kind, namespaces])).toContainEqual(['AgentTask', ['team-141']]);
});
