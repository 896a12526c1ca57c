// Serves the same pods and the same flood of events to every client, from bytes made beforehand.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pod } from './pod.ts';

const objects = Number(process.argv[2]);
const floods = Number(process.argv[3]);
const items = Array.from({ length: objects }, (_, i) => JSON.stringify(pod(i, i + 1)));
const events = Array.from(
  { length: floods },
  (_, i) => `{"type":"MODIFIED","object":${JSON.stringify(pod(i % objects, objects + i + 1))}}\n`,
);
const added = items.map((item) => `{"type":"ADDED","object":${item}}\n`);
const end = `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"${objects}","annotations":{"k8s.io/initial-events-end":"true"}}}}\n`;

/** Sends in pieces of 64 events, as fast as the client reads. */
async function flood(response: ServerResponse, lines: readonly string[]): Promise<void> {
  for (let at = 0; at < lines.length && !response.destroyed; at += 64) {
    const more = response.write(lines.slice(at, at + 64).join(''));
    if (!more) await once(response, 'drain').catch(() => {});
  }
}

let go: (() => void) | undefined;
const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://localhost');
  if (url.pathname === '/go') {
    go?.();
    response.end();
    return;
  }
  response.setHeader('content-type', 'application/json');
  if (url.searchParams.get('watch') === 'true') {
    response.flushHeaders();
    const initial = url.searchParams.get('sendInitialEvents') === 'true' ? flood(response, [...added, end]) : Promise.resolve();
    go = () => void initial.then(() => flood(response, events));
    return;
  }
  const from = Number(url.searchParams.get('continue') ?? 0);
  const limit = Number(url.searchParams.get('limit') ?? objects) || objects;
  const next = from + limit < objects ? `,"continue":"${from + limit}"` : '';
  response.end(
    `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"${objects}"${next}},"items":[${items.slice(from, from + limit).join(',')}]}`,
  );
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
