// Serves the same pods and the same flood of events to every client, from bytes made beforehand.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

function container(name: string, index: number): object {
  return {
    name,
    image: `registry.example.com/team/${name}@sha256:${'0123456789abcdef'.repeat(4)}`,
    env: Array.from({ length: 6 }, (_, i) => ({ name: `VARIABLE_${i}`, value: `value ${i} of ${index}` })),
    resources: { limits: { cpu: '2', memory: '4Gi' }, requests: { cpu: '500m', memory: '1Gi' } },
    volumeMounts: [{ name: 'work', mountPath: '/work' }],
    terminationMessagePath: '/dev/termination-log',
    imagePullPolicy: 'IfNotPresent',
  };
}

/** A pod as clusters have them: about 5 kB, a third of it managedFields. */
export function pod(index: number, version: number): object {
  const fields = (depth: number): object =>
    Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`f:field${i}`, depth === 0 ? {} : fields(depth - 1)]));
  const condition = (type: string): object => ({ type, status: 'True', lastProbeTime: null, lastTransitionTime: '2030-01-01T00:00:00Z' });
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `pod-${index}`,
      namespace: `ns-${index % 20}`,
      uid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      resourceVersion: String(version),
      creationTimestamp: '2030-01-01T00:00:00Z',
      labels: { app: 'bench', 'app.kubernetes.io/managed-by': 'bench', shard: String(index % 8) },
      ownerReferences: [{ apiVersion: 'example.com/v1', kind: 'Owner', name: `owner-${index}`, uid: `1${index}`, controller: true }],
      managedFields: ['a', 'b'].map((manager) => ({
        manager,
        operation: 'Update',
        apiVersion: 'v1',
        time: '2030-01-01T00:00:00Z',
        fieldsType: 'FieldsV1',
        fieldsV1: fields(1),
      })),
    },
    spec: {
      containers: [container('tools', index), container('keeper', index)],
      nodeName: `node-${index % 50}`,
      volumes: [{ name: 'work', emptyDir: {} }],
    },
    status: { phase: 'Running', podIP: '10.0.0.1', conditions: ['Ready', 'Initialized', 'PodScheduled', 'ContainersReady'].map(condition) },
  };
}

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
