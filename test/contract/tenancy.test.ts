// Attacks by a holder of the role agentfleet-admin in one namespace only, through the operator, on another one. Each
// party acts with its own token and the roles of the chart; the operator runs, and there is no kubelet.
import { gatewayAudience } from '@agentfleet/protocol/gateway';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { up } from '../../hack/cluster/index.ts';
import { minimalTask } from './api/examples.ts';
import { withValues, type Node } from './api/fields.ts';
import { collection, connect, createNamespace, enabled, install, until, type Answer, type Server, type Stored } from './api/server.ts';
import { operatorTransport } from './operatorAccount.ts';
import { render, type Manifest } from './chart/rendered.ts';
import { contractConfig, nodeSelector, runOperator } from './wholeOperator.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const label = 'agentfleet.dev/component';

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

describe.runIf(enabled)('tenants and pools of others', () => {
  let server: Server;
  let [attacker, victim, platform, system] = ['', '', '', ''];
  let roles: readonly Manifest[] = [];
  let stop: () => Promise<void> = () => Promise.resolve();
  const tokens: Record<string, string> = {};

  const post = async (path: string, body: unknown, token?: string): Promise<Answer> =>
    server.ask('POST', path, { body, ...(token === undefined ? {} : { token }) });
  const made = async (path: string, body: unknown, token?: string): Promise<Answer> => {
    const answer = await post(path, body, token);
    expect(answer.body.message).toBeUndefined();
    return answer;
  };

  /** An account with the rules of these ClusterRoles of the chart in one namespace, and a token of it. */
  const person = async (name: string, namespace: string, ...granted: readonly string[]): Promise<void> => {
    const rules = roles.filter(({ metadata }) => granted.includes(metadata.name)).flatMap((role) => role.rules ?? []);
    await made(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
    await made(`${rbac}/namespaces/${namespace}/roles`, { metadata: { name }, rules });
    await made(`${rbac}/namespaces/${namespace}/rolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    });
    tokens[name] = await tokenOf(namespace, name);
  };
  const tokenOf = async (namespace: string, name: string): Promise<string> =>
    ((await made(`/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`, { spec: {} })).body.status as { token: string }).token;

  const items = async (path: string, query = ''): Promise<readonly Stored[]> => (await server.ask('GET', path + query)).body.items ?? [];
  const ours = `?labelSelector=${encodeURIComponent(label)}`;
  /** Lists all objects of operators in a namespace of tasks, as `kind/name`. */
  const footprint = async (namespace: string): Promise<readonly string[]> => {
    const core = ['pods', 'configmaps', 'secrets', 'serviceaccounts'].map((plural) => [
      plural,
      `/api/v1/namespaces/${namespace}/${plural}`,
    ]);
    const access = ['roles', 'rolebindings'].map((plural) => [plural, `${rbac}/namespaces/${namespace}/${plural}`]);
    const walls = [['networkpolicies', `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies`]];
    const found = [...core, ...access, ...walls].map(async ([plural = '', path = '']) =>
      (await items(path, ours)).map(({ metadata }) => `${plural}/${plural === 'pods' ? 'one' : metadata.name}`),
    );
    return (await Promise.all(found)).flat().sort();
  };
  const conditions = async (path: string): Promise<readonly Condition[]> =>
    ((await server.ask('GET', path)).body.status?.['conditions'] ?? []) as Condition[];
  const said = async (path: string, type: string): Promise<Condition | undefined> =>
    (await conditions(path)).find((condition) => condition.type === type);

  const pool = (name: string, spec: Node): object => ({
    apiVersion: 'agentfleet.dev/v1alpha1',
    kind: 'ExpertPool',
    metadata: { name },
    spec: { allowedNamespaces: { from: 'All' }, experts: [{ name: 'gen', role: 'Generalist', engine: { type: 'Synth' } }], ...spec },
  });
  const task = (name: string): Node => withValues(minimalTask, { 'metadata.name': name, 'spec.poolRef': undefined });
  const grant = (name: string, allow: readonly string[]): object => ({
    apiVersion: 'agentfleet.dev/v1alpha1',
    kind: 'PoolGrant',
    metadata: { name },
    spec: { from: [{ namespace: attacker, name: 'thief' }], allow },
  });

  beforeAll(async () => {
    server = await connect();
    await install(server);
    for (const at of [0, 1, 2, 3]) {
      const name = await createNamespace(server);
      [attacker, victim, platform, system] = [at === 0 ? name : attacker, at === 1 ? name : victim, at === 2 ? name : platform, name];
    }
    const cluster = await up({ tier: 'control-plane', log: () => undefined });
    roles = (await render(cluster.bin('helm'), system)).filter(({ kind }) => kind === 'ClusterRole');
    const worker = roles.find(({ metadata }) => metadata.name === 'agentfleet-worker');
    await made(`${rbac}/clusterroles`, { metadata: { name: `${victim}-worker` }, rules: worker?.rules });
    const admin = roles.filter(({ metadata }) => metadata.labels?.['agentfleet.dev/aggregate-to-admin'] === 'true');
    await person('mallory', attacker, ...admin.map(({ metadata }) => metadata.name));
    await person('olga', victim, 'agentfleet-viewer', 'agentfleet-editor', 'agentfleet-granter');
    await person('ed', victim, 'agentfleet-viewer', 'agentfleet-editor');
    // Where the cluster has a kubelet, it must not pull images that do not exist.
    for (const namespace of [attacker, platform]) {
      const quotas = `/api/v1/namespaces/${namespace}/resourcequotas`;
      await made(quotas, { metadata: { name: 'no-pods' }, spec: { hard: { pods: '0' } } });
    }
    const workerClusterRole = `${victim}-worker`;
    const transport = await operatorTransport(server, system, { workerClusterRole });
    stop = runOperator(transport, { ...contractConfig, namespace: system, platformNamespaces: [platform], workerClusterRole });
    const template = { nodeSelector, podMetadata: { labels: { app: 'shop' } }, tolerations: [{ operator: 'Exists' }] };
    const spec = { default: true, sandbox: { template, warm: [{ namespace: victim, replicas: 1 }] } };
    await made(collection(attacker, 'expertpools'), pool('thief', spec), tokens['mallory']);
    await until(
      'the pool is looked at',
      async () => (await said(`${collection(attacker, 'expertpools')}/thief`, 'Accepted')) !== undefined,
    );
  });
  afterAll(async () => {
    await server.ask('DELETE', `${collection(attacker, 'expertpools')}/thief`);
    for (const name of [victim, attacker, platform, system]) await server.ask('DELETE', `/api/v1/namespaces/${name}`);
    await server.ask('DELETE', `${rbac}/clusterroles/${victim}-worker`);
    await stop();
  });

  it('nothing is made in a namespace without consent, and the pool reports the cure', async () => {
    await until('the pool says what is missing', async () => {
      const word = await said(`${collection(attacker, 'expertpools')}/thief`, 'NamespacesGranted');
      return word?.reason === 'GrantMissing';
    });
    const word = await said(`${collection(attacker, 'expertpools')}/thief`, 'NamespacesGranted');
    expect(word?.message).toContain(
      `{apiVersion: agentfleet.dev/v1alpha1, kind: PoolGrant, metadata: {name: thief, namespace: ${victim}}, spec: {from: [{namespace: ${attacker}, name: thief}], allow: [Warm, PodMetadata, Tolerations]}}`,
    );
    expect(await footprint(victim)).toEqual([]);
  });

  it('tasks of others stay without a pool rather than with the one of the attacker', async () => {
    const path = `${collection(victim, 'agenttasks')}/lonely`;
    await made(collection(victim, 'agenttasks'), task('lonely'), tokens['ed']);
    await until('it is refused', async () => (await said(path, 'Accepted'))?.reason === 'NoDefaultPool');
    expect(await footprint(victim)).toEqual([]);
    await server.ask('DELETE', path);
  });

  it('the owner of a namespace may consent, its editors may not, and no account for another one', async () => {
    const path = collection(victim, 'poolgrants');
    expect((await post(path, grant('thief', ['Warm']), tokens['mallory'])).status).toBe(403);
    expect((await post(path, grant('thief', ['Warm']), tokens['ed'])).status).toBe(403);
    expect((await server.ask('GET', path, { token: tokens['ed']! })).status).toBe(200);
    expect((await post(path, grant('thief', ['Warm']), tokens['olga'])).status).toBe(201);
    // Its template's pod settings are not granted yet.
    await until('the rest is missing', async () => {
      const word = await said(`${collection(attacker, 'expertpools')}/thief`, 'NamespacesGranted');
      return word?.message.includes('does not grant PodMetadata, Tolerations;') === true;
    });
    expect(await footprint(victim)).toEqual([]);
  });

  it('with consent a sandbox waits, whose link key and neighbours the worker cannot read; all is removed when it is withdrawn', async () => {
    await made(collection(victim, 'poolgrants'), grant('more', ['PodMetadata', 'Tolerations']), tokens['olga']);
    const whole = [
      'configmaps/agentfleet-jwks',
      'networkpolicies/agentfleet-sandbox',
      'pods/one',
      `rolebindings/agentfleet.${attacker}.thief`,
      'secrets/agentfleet-link',
    ];
    await until('a sandbox waits', async () => (await footprint(victim)).join() === whole.join());
    const token = await tokenOf(attacker, 'thief-worker');
    const status = async (path: string): Promise<number> => (await server.ask('GET', path, { token })).status;
    expect(await status(collection(victim, 'agenttasks'))).toBe(200);
    for (const plural of ['pods', 'configmaps', 'secrets'])
      expect([plural, await status(`/api/v1/namespaces/${victim}/${plural}`)]).toEqual([plural, 403]);
    expect(await status(`/api/v1/namespaces/${victim}/configmaps/kube-root-ca.crt`)).toBe(403);
    const [secret] = await items(`/api/v1/namespaces/${victim}/secrets`, ours);
    const key = Buffer.from((secret as unknown as { data: { key: string } }).data.key, 'base64').toString();
    expect(key.length).toBeGreaterThanOrEqual(32);
    expect(JSON.stringify(await items(`/api/v1/namespaces/${victim}/pods`, ours))).not.toContain(key);
    for (const name of ['thief', 'more'])
      await server.ask('DELETE', `${collection(victim, 'poolgrants')}/${name}`, { token: tokens['olga']! });
    await until('nothing is left', async () => (await footprint(victim)).length === 0);
  });

  it('workers read the ConfigMaps that tasks name, and no others', async () => {
    const maps = `/api/v1/namespaces/${victim}/configmaps`;
    for (const name of ['named', 'other']) await made(maps, { metadata: { name }, data: { a: 'b' } });
    const workspace = { type: 'ConfigMap', configMap: { name: 'named' } };
    const body = withValues(minimalTask, {
      'metadata.name': 'reads',
      'spec.poolRef': { name: 'open', namespace: attacker },
      'spec.workspace': workspace,
    });
    await made(collection(attacker, 'expertpools'), pool('open', {}), tokens['mallory']);
    await made(collection(victim, 'agenttasks'), body, tokens['ed']);
    const account = `/api/v1/namespaces/${attacker}/serviceaccounts/open-worker`;
    await until('the workers have an account', async () => (await server.ask('GET', account)).status === 200);
    const token = await tokenOf(attacker, 'open-worker');
    await until('it may be read', async () => (await server.ask('GET', `${maps}/named`, { token })).status === 200);
    expect((await server.ask('GET', `${maps}/other`, { token })).status).toBe(403);
    await server.ask('DELETE', `${collection(victim, 'agenttasks')}/reads`);
    await until('it may be read no more', async () => (await server.ask('GET', `${maps}/named`, { token })).status === 403);
  });

  it('workers of a pool with chat models get tokens for their gateway, of their own account alone, and read no Secret', async () => {
    const spec = {
      experts: [
        {
          name: 'gen',
          role: 'Generalist',
          engine: { type: 'OpenAI', api: { baseURL: 'https://llm.example.com/v1', model: 'm', credential: 'llm' } },
        },
      ],
      credentials: [{ name: 'llm', secretRef: { name: 'llm', key: 'token' }, hosts: ['llm.example.com'] }],
    };
    await made(`/api/v1/namespaces/${attacker}/secrets`, { metadata: { name: 'llm' }, stringData: { token: 'k' } });
    await made(collection(attacker, 'expertpools'), pool('chat', spec), tokens['mallory']);
    const accounts = `/api/v1/namespaces/${attacker}/serviceaccounts`;
    const own = `/apis/apps/v1/namespaces/${attacker}/deployments/chat-gateway`;
    await until('it has a gateway', async () => (await server.ask('GET', own)).status === 200);
    const token = await tokenOf(attacker, 'chat-worker');
    const spoken = { spec: { audiences: [gatewayAudience(attacker, 'chat')] } };
    expect((await post(`${accounts}/chat-worker/token`, spoken, token)).status).toBe(201);
    for (const other of ['open-worker', 'default'])
      expect([other, (await post(`${accounts}/${other}/token`, spoken, token)).status]).toEqual([other, 403]);
    expect((await server.ask('GET', `/api/v1/namespaces/${attacker}/secrets/llm`, { token })).status).toBe(403);
    expect((await server.ask('GET', `/api/v1/namespaces/${attacker}/configmaps/chat-gateway`, { token })).status).toBe(403);
  });
});
