// A tenant's pod calls experts, workers and the operator without permission, while the fleet works.
import { deleteNamespace } from '../../hack/sandbox/index.ts';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { askingPods } from './askingPods.ts';
import { useFleet } from './fleet.ts';
import { oneBug } from './repositories.ts';

const fleet = useFleet('access');
const { start, ask, addressOf } = askingPods(fleet);
const tenant = `aft-tenant-${randomBytes(3).toString('hex')}`;

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

test('a pod of a tenant reaches neither experts nor workers, and reads no metrics of the operator', async () => {
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
  // The request is empty: it is refused for that, and not for its sender.
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
