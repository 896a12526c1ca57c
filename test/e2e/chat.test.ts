// The tasks that people ask first, done by a chat model behind an API: a pool with an endpoint and a key on a real cluster.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { recordings } from '../sandbox/conversationBed.ts';
import { scenarios, type Scenario } from '../sandbox/conversations.ts';
import { plainPod } from './askingPods.ts';
import { brokenPromises, condition, storageOf, useFleet, type Fleet } from './fleet.ts';

const key = 'k-of-the-model';
const asked = ['feature', 'rename', 'script', 'investigate'] as const;

/** A provider in a pod that plays the recordings, and the key in the Secret that the pool names. */
async function provider(fleet: Fleet): Promise<void> {
  const { kubectl, namespace } = fleet;
  const bundled = await build({
    entryPoints: [join(import.meta.dirname, 'recordedServer.ts')],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    write: false,
  });
  const files = await Promise.all(asked.map(async (name) => [`${name}.json`, await readFile(join(recordings, `${name}.json`), 'utf8')]));
  const data = { 'server.cjs': bundled.outputFiles[0]?.text ?? '', ...(Object.fromEntries(files) as Record<string, string>) };
  await kubectl.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'provider', namespace }, data });
  await kubectl.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'llm', namespace }, stringData: { token: key } });
  const pod = plainPod('provider', { app: 'provider' }) as { readonly spec: { readonly containers: readonly object[] } };
  const [container] = pod.spec.containers;
  const mounted = {
    ...container,
    command: ['/usr/local/bin/node', '/provider/server.cjs', '/provider', key],
    volumeMounts: [{ name: 'provider', mountPath: '/provider' }],
  };
  const volumes = [{ name: 'provider', configMap: { name: 'provider' } }];
  await kubectl.apply({
    ...pod,
    metadata: { name: 'provider', labels: { app: 'provider' }, namespace },
    spec: { ...pod.spec, containers: [mounted], volumes },
  });
  const ports = [{ port: 8080, targetPort: 8080 }];
  await kubectl.apply({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'provider', namespace },
    spec: { selector: { app: 'provider' }, ports },
  });
  await kubectl.waitReady(namespace, 'provider', 120);
}

const host = (namespace: string): string => `provider.${namespace}.svc`;

const fleet = useFleet('chat', {
  before: provider,
  pool: {},
});

async function pool(): Promise<void> {
  const { namespace } = fleet;
  const api = {
    baseURL: `http://${host(namespace)}:8080/v1`,
    model: 'recorded',
    credential: 'llm',
    contextTokens: 64_000,
    maxOutputTokens: 4096,
    price: { input: '2', cachedInput: '1', output: '8' },
  };
  const { storage, credentials } = storageOf();
  await fleet.apply('ExpertPool', 'chat', {
    experts: [{ name: 'gen', role: 'Generalist', engine: { type: 'OpenAI', api } }],
    storage,
    credentials: [...credentials, { name: 'llm', secretRef: { name: 'llm', key: 'token' }, hosts: [host(namespace)] }],
  });
  await fleet.run('wait', '--for=condition=Ready', 'expertpool/chat', '--timeout=400s');
}

function scenario(name: string): Scenario {
  const found = scenarios.find((one) => one.name === name);
  if (found === undefined) throw new Error(`there is no scenario ${name}`);
  return found;
}

async function submit(name: string): Promise<void> {
  const { goal, files, checks, spec } = scenario(name);
  const inline = { files: Object.entries(files).map(([path, content]) => ({ path, content })) };
  await fleet.apply('AgentTask', name, {
    poolRef: { name: 'chat' },
    goal,
    workspace: { type: 'Inline', inline },
    checks,
    attempts: { max: 1 },
    ...spec,
  });
}

test('a pool is ready with an endpoint and a key', async () => {
  await pool();
}, 500_000);

test('gateway and workers die in the middle of a conversation, and it goes on', async () => {
  const name = 'script';
  await submit(name);
  await expect.poll(async () => fleet.run('logs', 'provider'), { timeout: 240_000, interval: 500 }).toContain('a request is held');
  const now = ['--force', '--grace-period=0', '--wait=false'];
  for (const component of ['gateway', 'worker'])
    await fleet.run('delete', 'pod', '-l', `agentfleet.dev/pool=chat,agentfleet.dev/component=${component}`, ...now);
  for (const other of asked) if (other !== name) await submit(other);
  const task = await fleet.finished(name, 300);
  expect(condition(task, 'Succeeded'), await fleet.explain(name)).toMatchObject({ status: 'True' });
}, 1_500_000);

test.each(['feature', 'script'])(
  '%s is done, proved by its check and paid for',
  async (name) => {
    const task = await fleet.finished(name, 240);
    expect(condition(task, 'Succeeded'), await fleet.explain(name)).toMatchObject({ status: 'True' });
    const { run } = task.status ?? {};
    const { patch } = scenario(name);
    if (patch !== undefined) expect(run?.patch).toMatch(patch);
    expect(run?.usage?.tokensIn).toBeGreaterThan(1000);
    expect(Number(run?.usage?.cost)).toBeGreaterThan(0);
    expect(brokenPromises(fleet, name)).toEqual([]);
  },
  1_000_000,
);

test('a failing service is explained in words', async () => {
  const task = await fleet.finished('investigate', 240);
  expect(condition(task, 'Succeeded'), await fleet.explain('investigate')).toMatchObject({ status: 'True' });
  expect(task.status?.run?.answer).toMatch(scenario('investigate').answer ?? /./);
  expect(task.status?.run?.artifacts?.map(({ name }) => name)).toContain('answer.md');
}, 1_000_000);

test('a rename that green tests cannot prove is reviewed by a person', async () => {
  const waiting = await fleet.until('rename', 'awaits a review', 240, ({ status }) => status?.run?.pendingApproval !== undefined);
  const pending = waiting.status?.run?.pendingApproval;
  expect(pending?.evidence).toMatch(/surface/);
  const { username } = (await fleet.kubectl.json<{ status: { userInfo: { username: string } } }>(['auth', 'whoami'])).status.userInfo;
  const spec = { taskRef: { name: 'rename' }, type: 'Approve', action: pending?.action, requester: username };
  await fleet.apply('AgentTaskOrder', 'approve-rename', spec);
  const task = await fleet.finished('rename', 240);
  expect(condition(task, 'Succeeded'), await fleet.explain('rename')).toMatchObject({ status: 'True' });
  expect(task.status?.run?.patch).toMatch(/^\+def surface/m);
}, 1_000_000);
