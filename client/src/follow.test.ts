import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createTransport, plainConfig } from '@agentfleet/kube';
import { expect, onTestFinished, test } from 'vitest';
import { ClusterClient } from './client.ts';

/** A server with one task, in a state that stays; no watch says anything. */
async function serving(status: object): Promise<ClusterClient> {
  const task = { metadata: { name: 'one', namespace: 'demo', uid: 'u', resourceVersion: '7' }, status };
  const server = createServer(({ url = '' }, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    if (url.includes('watch=')) response.flushHeaders();
    else response.end(JSON.stringify(task));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const at = plainConfig(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const client = new ClusterClient(createTransport(at, { userAgent: 'test' }), 'demo');
  onTestFinished(async () => {
    await client.close();
    server.closeAllConnections();
    server.close();
  });
  return client;
}

test('a task is not returned as finished because the caller waits no longer', async () => {
  const client = await serving({ phase: 'Running', finished: 'false' });
  const late = new Error('late');
  const stop = new AbortController();
  setTimeout(() => stop.abort(late), 300);
  await expect(client.finished('one', { signal: stop.signal })).rejects.toBe(late);
});

test('what ended with the version that is known already is not waited for', async () => {
  const client = await serving({ phase: 'Succeeded', finished: 'true' });
  expect((await client.finished('one', { since: '7' })).status?.phase).toBe('Succeeded');
  for await (const update of client.follow('one', { since: '7' })) expect(update).toBeUndefined();
});
