// A pool with an endpoint and a key, on a real cluster: waiting for the key, its only holder, admitted callers, and
// access to the model.
import { expect, test } from 'vitest';
import { askingPods } from './askingPods.ts';
import { storageOf, useFleet, type Pod } from './fleet.ts';

const fleet = useFleet('gateway');
const { start, answer, ask, addressOf } = askingPods(fleet);
const key = 'k-of-the-model';

/** A server of the OpenAI chat API with one answer, for callers with the key. */
const model = `
const reply = { id: 'c', object: 'chat.completion', created: 1, model: 'm', usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'pong' } }] };
require('node:http').createServer((request, response) => {
  const known = request.headers.authorization === 'Bearer ${key}';
  response.writeHead(known ? 200 : 401, { 'content-type': 'application/json' });
  response.end(JSON.stringify(known ? reply : { error: { message: 'no key' } }));
}).listen(8080, '::');
`;

interface PoolNow {
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string; readonly message: string }[];
    readonly experts?: readonly { readonly name: string; readonly phase: string; readonly endpoint?: string }[];
  };
}

const poolNow = (): Promise<PoolNow> => fleet.kubectl.json<PoolNow>(['-n', fleet.namespace, 'get', 'expertpool', 'chat']);

async function until(what: string, holds: (pool: PoolNow) => boolean, seconds: number): Promise<PoolNow> {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const pool = await poolNow();
    if (holds(pool)) return pool;
    if (Date.now() > deadline) throw new Error(`not within ${seconds} s: ${what}\n${JSON.stringify(pool.status, undefined, 1)}`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

const engines = ({ status }: PoolNow) => status?.conditions?.find(({ type }) => type === 'EnginesReady');

async function podsOf(component: string): Promise<readonly Pod[]> {
  const selector = `agentfleet.dev/component=${component},agentfleet.dev/pool=chat`;
  return (await fleet.kubectl.json<{ readonly items: readonly Pod[] }>(['-n', fleet.namespace, 'get', 'pods', '-l', selector])).items;
}

test('a pool waits for the key of its model, and reports it', async () => {
  const { namespace } = fleet;
  await start(namespace, 'model', { app: 'model' }, model);
  const ports = [{ port: 8080, targetPort: 8080 }];
  await fleet.kubectl.apply({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'model', namespace },
    spec: { selector: { app: 'model' }, ports },
  });
  const api = { baseURL: `http://model.${namespace}.svc:8080/v1`, model: 'm', credential: 'llm' };
  const { storage, credentials } = storageOf();
  await fleet.apply('ExpertPool', 'chat', {
    experts: [{ name: 'gen', role: 'Generalist', engine: { type: 'OpenAI', api } }],
    storage,
    credentials: [...credentials, { name: 'llm', secretRef: { name: 'llm', key: 'token' }, hosts: [`model.${namespace}.svc`] }],
  });
  const pool = await until('it names the Secret', (one) => engines(one)?.reason === 'CredentialMissing', 240);
  expect(engines(pool)?.message).toContain(`create Secret llm with the key token in namespace ${namespace}`);
}, 400_000);

test('and is ready by itself when the key is there', async () => {
  const metadata = { name: 'llm', namespace: fleet.namespace };
  await fleet.kubectl.apply({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: { token: key } });
  const pool = await until('its engines answer', (one) => engines(one)?.status === 'True', 400);
  expect(pool.status?.experts).toMatchObject([
    { name: 'gen', phase: 'Ready', endpoint: `http://chat-gateway.${fleet.namespace}.svc:8090` },
  ]);
  expect(await podsOf('gateway')).toHaveLength(2);
}, 500_000);

test('the gateway asks the model for workers of the pool, and for no other caller', async () => {
  const { namespace } = fleet;
  const target = `http://chat-gateway.${namespace}.svc:8090/v1/chat/completions`;
  const audience = `--audience=agentfleet-gateway:${namespace}/chat`;
  const token = async (account: string, ...more: readonly string[]): Promise<string> =>
    (await fleet.run('create', 'token', account, ...more)).trim();
  await start(namespace, 'like', { 'agentfleet.dev/component': 'worker', 'agentfleet.dev/pool': 'chat' });
  await start(namespace, 'other', { 'agentfleet.dev/component': 'worker', 'agentfleet.dev/pool': 'pool' });
  const [from, other] = ['like', 'other'].map((pod) => ({ namespace, pod }));
  const question = JSON.stringify({ model: 'gen', messages: [{ role: 'user', content: 'ping' }] });
  expect(await ask(from!, target, 'POST')).toBe('401');
  expect(await ask(from!, target, 'POST', await token('default', audience))).toBe('403');
  expect(await ask(from!, target, 'POST', await token('chat-worker', `--audience=agentfleet-experts:${namespace}`))).toBe('401');
  const answered = await answer(from!, target, 'POST', await token('chat-worker', audience), question);
  expect(answered).toMatch(/^200 .*pong/);
  expect(await ask(other!, target, 'POST', await token('chat-worker', audience))).toBe('silent');
}, 240_000);

test('workers have no key, and no way to the model; the gateway has no way elsewhere', async () => {
  const { namespace } = fleet;
  const workers = await podsOf('worker');
  const worker = workers.find(({ metadata }) => metadata.name !== 'like')?.metadata.name ?? '';
  expect(await fleet.run('get', 'deployment', 'chat-workers', '-o', 'json')).not.toContain('"llm"');
  expect(await ask({ namespace, pod: worker }, `http://model.${namespace}.svc:8080/v1`)).toBe('silent');
  const [gateway] = await podsOf('gateway');
  const from = { namespace, pod: gateway?.metadata.name ?? '' };
  expect(await ask(from, `http://model.${namespace}.svc:8080/v1`)).toBe('401');
  // The operator's port answers any pod that may speak to it.
  const operator = await addressOf(fleet.system, 'app.kubernetes.io/name=agentfleet');
  await start(namespace, 'free');
  expect(await ask({ namespace, pod: 'free' }, `http://${operator}:8080/metrics`)).toBe('401');
  expect(await ask(from, `http://${operator}:8080/metrics`)).toBe('silent');
}, 240_000);
