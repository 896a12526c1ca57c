// A tenant's pod asks experts, workers and the operator for what is none of its business, while the fleet works.
import { deleteNamespace } from '../../hack/sandbox/index.ts';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { useFleet, type Pod } from './fleet.ts';
import { oneBug } from './repositories.ts';

const fleet = useFleet('access');
const tenant = `aft-tenant-${randomBytes(3).toString('hex')}`;

/** What a request came to: its status, or `silent` where nothing answers. */
const asking = `
const [target, method, token] = process.argv.slice(1);
const headers = { 'content-type': 'application/json', ...(token ? { authorization: 'Bearer ' + token } : {}) };
const body = method === 'POST' ? '{}' : undefined;
fetch(target, { method, headers, body, signal: AbortSignal.timeout(4000) }).then(({ status }) => status, () => 'silent').then(console.log);
`;

function podOf(name: string, labels: Readonly<Record<string, string>>): object {
  const security = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 1,
      securityContext: { runAsNonRoot: true, runAsUser: 10_001, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'it',
          image: inject('fleet').images['agent'],
          imagePullPolicy: 'IfNotPresent',
          command: ['/usr/local/bin/node', '-e', 'setInterval(() => {}, 1000)'],
          resources: { requests: { cpu: '10m', memory: '32Mi' }, limits: { memory: '256Mi' } },
          securityContext: security,
        },
      ],
    },
  };
}

async function start(namespace: string, name: string, labels: Readonly<Record<string, string>> = {}): Promise<void> {
  const pod = podOf(name, labels) as { readonly metadata: object };
  await fleet.kubectl.apply({ ...pod, metadata: { ...pod.metadata, namespace } });
  await fleet.kubectl.waitReady(namespace, name, 60);
}

async function ask(
  from: { readonly namespace: string; readonly pod: string },
  target: string,
  method = 'GET',
  token = '',
): Promise<string> {
  const command = ['/usr/local/bin/node', '-e', asking, '--', target, method, token];
  const told = await fleet.kubectl.text(['-n', from.namespace, 'exec', from.pod, '--', ...command]);
  return told.trim();
}

async function addressOf(namespace: string, selector: string): Promise<string> {
  const { items } = await fleet.kubectl.json<{ readonly items: readonly Pod[] }>(['-n', namespace, 'get', 'pods', '-l', selector]);
  const ip = items.find(({ status }) => status?.podIP !== undefined)?.status?.podIP ?? '';
  return ip.includes(':') ? `[${ip}]` : ip;
}

const foreign = { namespace: tenant, pod: 'foreign' };
let targets: Readonly<Record<'expert' | 'worker' | 'operator', string>>;

beforeAll(async () => {
  await fleet.kubectl.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: tenant } });
  await fleet.kubectl.text(['-n', tenant, 'wait', '--for=create', 'serviceaccount/default', '--timeout=30s']);
  await start(tenant, 'foreign');
  const [expert, worker, operator] = await Promise.all([
    addressOf(fleet.namespace, 'agentfleet.dev/component=expert'),
    addressOf(fleet.namespace, 'agentfleet.dev/component=worker'),
    addressOf(fleet.system, 'app.kubernetes.io/name=agentfleet'),
  ]);
  targets = { expert: `http://${expert}:7080`, worker: `http://${worker}:7090`, operator: `http://${operator}:8080` };
});
afterAll(() => deleteNamespace(fleet.kubectl, tenant));

test('a pod of a tenant reaches neither experts nor workers, and reads nothing of the operator', async () => {
  expect(await ask(foreign, `${targets.expert}/v1/generate`, 'POST')).toBe('silent');
  expect(await ask(foreign, `${targets.expert}/metrics`)).toBe('silent');
  expect(await ask(foreign, `${targets.worker}/metrics`)).toBe('silent');
  expect(await ask(foreign, `${targets.operator}/metrics`)).toBe('401');
  const audience = '--audience=agentfleet-operator-metrics';
  const own = (await fleet.kubectl.text(['-n', tenant, 'create', 'token', 'default', audience])).trim();
  expect(await ask(foreign, `${targets.operator}/metrics`, 'GET', own)).toBe('403');
});

test('a pod that passes for a worker of the pool gets through the wall, and is refused without a token of its account', async () => {
  const like = { 'agentfleet.dev/component': 'worker', 'agentfleet.dev/pool': 'pool' };
  await start(fleet.namespace, 'like', like);
  const from = { namespace: fleet.namespace, pod: 'like' };
  const token = async (account: string, audience: string): Promise<string> =>
    (await fleet.run('create', 'token', account, `--audience=${audience}`)).trim();
  const audience = `agentfleet-experts:${fleet.namespace}`;
  const url = `${targets.expert}/v1/generate`;
  expect(await ask(from, url, 'POST')).toBe('401');
  expect(await ask(from, url, 'POST', await token('default', audience))).toBe('403');
  expect(await ask(from, url, 'POST', await token('pool-worker', `agentfleet-experts:${tenant}`))).toBe('401');
  // The request is empty: it is refused as such, and not for who sends it.
  expect(await ask(from, url, 'POST', await token('pool-worker', audience))).toBe('400');
  // Its own wall is that of workers.
  expect(await ask(from, `${targets.operator}/metrics`)).toBe('silent');
  expect(await ask(from, `${targets.worker}/metrics`)).toBe('silent');
  await fleet.run('delete', 'pod', 'like', '--grace-period=1');
});

test('tasks of the fleet succeed meanwhile', async () => {
  await fleet.task('fix', oneBug);
  expect((await fleet.finished('fix')).status?.phase).toBe('Succeeded');
});
