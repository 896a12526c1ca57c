// The API server of the bench of scale, in a process of its own: `server.ts FOLDER FINISHED LIVE`. It plays kubelet and
// workers, too. Sends `{port}` when the tasks that have ended are there, makes the others on any message, and then
// reports how many of them run, twice a second.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createTransport, leases, microTimestamp, ResourceClient, type KubeObject, type Resource } from '@agentfleet/kube';
import { startFakeServer, type FakeApiServer, type KindDefinition } from '@agentfleet/kube/testing';
import { resources } from '@agentfleet/operator/resources';
import { labels, workerLease } from '@agentfleet/protocol/pool';
import { builtinKinds, kindName } from '../../../../operator/kube/src/testing/kinds.ts';
import { kinds } from '../../../../operator/src/controllers/agenttask/testing/stage.ts';
import { finishedTask, freshTask, namespaces, poolFor, readyStatus, workerPod, workersFor } from './population.ts';

const [folder = '', finished = '0', live = '0'] = process.argv.slice(2);
/** Whatever else the operator follows, with nothing special about it. */
const known = new Set([...builtinKinds(), ...kinds].map(kindName));
const more = Object.values(resources)
  .map((resource): KindDefinition => ({ resource: resource as Resource, selectableFields: ['spec.driver'] }))
  .filter((definition) => !known.has(kindName(definition)));
const discovery: Readonly<Record<string, object>> = {
  '/.well-known/openid-configuration': { issuer: 'https://kubernetes.default.svc' },
  '/openid/v1/jwks': { keys: [{ kid: 'a' }] },
};
/** Versions are known for two to three times this. */
const compactMs = 60_000;
/** Requests of one kind of work that are under way at a time. */
const parallel = 16;

/** Server that sends bookmarks as often as a real one. */
const fake = await startFakeServer({ kinds: [...kinds, ...more], bookmarkMs: 60_000 });
const own = createTransport(fake.config, { userAgent: 'bench/1', connections: 64 });
const client = <T extends KubeObject>(resource: Resource<T>): ResourceClient<T> => new ResourceClient<T>(own, resource);

async function inParallel(count: number, make: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) await make(next++);
  };
  await Promise.all(Array.from({ length: parallel }, lane));
  // Drops the requests that are kept for tests to look at.
  fake.requests.length = 0;
}

async function populate(): Promise<void> {
  for (const name of Object.values(namespaces)) fake.createNamespace(name);
  const now = Date.now();
  for (let index = 0; index < Number(finished); index += 1) fake.place(resources.agentTasks, finishedTask(`ended-${index}`, now));
  await client(resources.expertPools).create(poolFor(Number(live)) as never);
  for (let index = 0; index < workersFor(Number(live)); index += 1) {
    const { status, ...pod } = workerPod(`w-${index}`);
    await client(resources.pods).create(pod);
    await client(resources.pods).patch(pod.metadata, { status }, { subresource: 'status' });
  }
  fake.compact();
}

/** Prints an error; the work that failed is tried again: a Lease at the next renewal. */
const printError = (error: unknown): void => void process.stderr.write(`${String(error)}\n`);

/** Renews the Leases of the workers, as they would. */
async function beat(): Promise<void> {
  await inParallel(workersFor(Number(live)), (index) => {
    const name = `w-${index}`;
    const spec = { holderIdentity: name, leaseDurationSeconds: workerLease.duration, renewTime: microTimestamp(Date.now()) };
    const metadata = { name, namespace: namespaces.pools, labels: { [labels.component]: 'worker' } };
    return client(leases).apply({ metadata, spec }, { fieldManager: name });
  });
}

/** Makes every new sandbox ready. */
function playKubelet(server: FakeApiServer): void {
  server.onChange((kind, { object, previous }) => {
    if (kind !== 'pods' || object === undefined || previous !== undefined) return;
    if (object.metadata.labels?.[labels.component] !== 'sandbox') return;
    const { metadata } = object;
    setImmediate(() => {
      void client(resources.pods)
        .patch(metadata, { spec: { nodeName: 'node-0' } })
        .then(() => client(resources.pods).patch(metadata, { status: readyStatus() }, { subresource: 'status' }))
        .catch(printError);
    });
  });
}

await populate();
playKubelet(fake);
await beat();
setInterval(() => void beat().catch(printError), workerLease.renew * 1000);
// A real server forgets history, too: what is old would be most of this process.
let [old, older] = [fake.version, fake.version];
setInterval(() => {
  fake.compact(Number(older));
  [older, old] = [old, fake.version];
}, compactMs);
const [key, cert] = ['key.pem', 'ca.crt'].map((name) => readFileSync(join(folder, name), 'utf8'));
const server = createServer({ key: key ?? '', cert: cert ?? '', keepAliveTimeout: 90_000 }, (request, response) => {
  const document = discovery[request.url ?? ''];
  if (document === undefined) void fake.accept(request, response);
  else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
process.on('message', () => {
  void inParallel(Number(live), (index) => client(resources.agentTasks).create(freshTask(`live-${index}`) as never)).catch(printError);
  setInterval(() => {
    const running = fake.objects(resources.agentTasks).filter(({ status }) => status?.phase === 'Running').length;
    process.send?.({ running });
    fake.requests.length = 0;
  }, 1_000);
});
process.send?.({ port: (server.address() as AddressInfo).port });
