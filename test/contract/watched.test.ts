// An operator with `watch.namespaces`: under the roles and the environment that the chart renders then, on a real API server. Workers and
// the kubelet are played.
import { randomUUID } from 'node:crypto';
import {
  createTransport,
  findCondition,
  isApiError,
  kubeconfigConfig,
  leases,
  ResourceClient,
  type KubeObject,
  type Lease,
  type Resource,
  type Transport,
} from '@agentfleet/kube';
import type { AgentTask, ExpertPool } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubeconfigPath, up } from '../../hack/cluster/index.ts';
import { readConfig } from '../../operator/src/config.ts';
import { workerServiceAccount } from '../../operator/src/pools/names.ts';
import { resources, type Pod } from '../../operator/src/runtime/resources.ts';
import { minimalTask } from './api/examples.ts';
import { connect, createNamespace, enabled, install, until, type Server } from './api/server.ts';
import { render, type Manifest } from './chart/rendered.ts';
import { administrator, beat, nodeSelector, reportRun, runOperator, startPod, startWorker } from './wholeOperator.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const snapshots = { initial: 's0001' };
const usage = { tokensIn: 0, tokensOut: 0, toolCalls: 3, cpuMillis: 40, wallSeconds: 5, candidates: 6, vetoes: 0, backtracks: 1 };

describe.runIf(enabled)('an operator that watches some namespaces', () => {
  let server: Server;
  let [system, team, other] = ['', '', ''];
  let admin: Transport;
  let stop: () => Promise<void> = () => Promise.resolve();
  const roles: string[] = [];
  /** Requests of the operator that were refused. */
  const refused: string[] = [];

  const client = <T extends KubeObject>(resource: Resource<T>): ResourceClient<T> => new ResourceClient(admin, resource);
  const post = async (path: string, body: object): Promise<void> => {
    const { status, body: answer } = await server.ask('POST', path, { body });
    if (status !== 201) throw new Error(`${path}: ${answer.message}`);
  };
  const task = (name: string, namespace = team): Promise<AgentTask> => client(resources.agentTasks).get({ namespace, name });
  const createTask = async (name: string, namespace: string, poolRef: object): Promise<void> => {
    const spec = { ...(minimalTask['spec'] as object), poolRef };
    await client(resources.agentTasks).create({ ...minimalTask, metadata: { name, namespace }, spec } as unknown as AgentTask);
  };
  const createPool = async (namespace: string): Promise<void> => {
    const experts = [{ name: 'gen', role: 'Generalist', engine: { type: 'Synth' } }];
    const spec = { experts, sandbox: { template: { nodeSelector } }, allowedNamespaces: { from: 'All' } };
    await client(resources.expertPools).create({ metadata: { name: 'coding', namespace }, spec } as unknown as ExpertPool);
  };
  const sandboxes = (name: string): Promise<Pod[]> =>
    client(resources.pods).list({ namespace: team, labelSelector: `${labels.task}=${name},${labels.component}=sandbox` });

  /** What the chart grants to the operator; what is of the whole cluster under a name of its own, as other tests run beside this one. */
  const grant = async (manifests: readonly Manifest[]): Promise<void> => {
    for (const manifest of manifests) {
      const { kind, metadata, roleRef } = manifest as Manifest & { metadata: { namespace?: string }; roleRef?: { name: string } };
      const shared = kind.startsWith('Cluster') || metadata.namespace === 'default';
      const ownName = (name: string): string => (shared ? `${name}-${system}` : name);
      const where = metadata.namespace === undefined ? rbac : `${rbac}/namespaces/${metadata.namespace}`;
      const path = `${where}/${kind.toLowerCase()}s`;
      await post(path, {
        ...manifest,
        metadata: { ...metadata, name: ownName(metadata.name) },
        ...(roleRef !== undefined && { roleRef: { ...roleRef, name: ownName(roleRef.name) } }),
      });
      roles.push(`${path}/${ownName(metadata.name)}`);
    }
  };

  const operatorTransport = async (): Promise<Transport> => {
    const accounts = `/api/v1/namespaces/${system}/serviceaccounts`;
    await post(accounts, { metadata: { name: 'agentfleet-operator' } });
    const { body } = await server.ask('POST', `${accounts}/agentfleet-operator/token`, { body: { spec: { expirationSeconds: 3600 } } });
    const kubeconfig = await kubeconfigConfig({ file: await kubeconfigPath() });
    const { ca } = (await kubeconfig.credentials(false)).tls;
    const credentials = { tls: ca === undefined ? {} : { ca }, authorization: `Bearer ${(body.status as { token: string }).token}` };
    const real = createTransport(
      { server: kubeconfig.server, credentials: () => Promise.resolve(credentials) },
      { userAgent: 'agentfleet-operator/test' },
    );
    const noted = async <T>(path: string, answer: Promise<T>): Promise<T> => {
      try {
        return await answer;
      } catch (error) {
        if (isApiError(error) && error.code === 403) refused.push(`${path}: ${error.message}`);
        throw error;
      }
    };
    return {
      host: real.host,
      request: (request) => noted(`${request.method} ${request.path}`, real.request(request)),
      stream: (request) => noted(`${request.method} ${request.path}`, real.stream(request)),
      close: () => real.close(),
    };
  };

  const startOperator = async (manifests: readonly Manifest[]): Promise<void> => {
    const deployment = manifests.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'agentfleet-operator');
    const env = Object.fromEntries(deployment!.spec!.template!.spec.containers[0]!.env.map(({ name, value }) => [name, value]));
    const read = readConfig({ ...env, POD_NAME: 'operator-0', POD_NAMESPACE: system });
    expect(read.watchNamespaces).toEqual([team, system]);
    stop = runOperator(await operatorTransport(), { ...read, probesPort: 0, metricsPort: 0 }, randomUUID());
  };

  beforeAll(async () => {
    server = await connect();
    await install(server);
    [system, team, other] = [await createNamespace(server), await createNamespace(server), await createNamespace(server)];
    admin = await administrator();
    const cluster = await up({ tier: 'control-plane', log: () => undefined });
    const values = { watch: { namespaces: [team] }, operands: { nodeSelector } };
    const manifests = await render(cluster.bin('helm'), system, values);
    await grant(manifests.filter(({ kind, metadata }) => /Role/.test(kind) && metadata.name.startsWith('agentfleet-operator')));
    await startOperator(manifests);
  });
  afterAll(async () => {
    for (const namespace of [team, other])
      await server.ask('DELETE', `/apis/agentfleet.dev/v1alpha1/namespaces/${namespace}/expertpools/coding`);
    await server.ask('DELETE', `/api/v1/namespaces/${team}`);
    await until(
      'all sandboxes are gone',
      async () => (await client(resources.pods).list({ namespace: team, labelSelector: `${labels.component}=sandbox` })).length === 0,
    );
    await stop();
    for (const namespace of [other, system]) await server.ask('DELETE', `/api/v1/namespaces/${namespace}`);
    for (const path of roles) await server.ask('DELETE', path);
    await admin.close();
  });

  it('runs a pool and a task in one of them, touches nothing in another one, and is refused nothing', async () => {
    for (const namespace of [other, team]) {
      await createPool(namespace);
      await createTask('one', namespace, { name: 'coding' });
    }
    await createTask('abroad', team, { name: 'coding', namespace: other });
    const account = { namespace: team, name: workerServiceAccount('coding') };
    await until('the account of workers', async () => (await client(resources.serviceAccounts).find(account)) !== undefined);
    await startWorker(admin, team, 'coding');
    await beat(admin, team);
    await until('it has a sandbox', async () => (await sandboxes('one')).length === 1);
    await startPod(admin, (await sandboxes('one'))[0]!);
    await until('it is assigned', async () => (await task('one')).status?.assignment !== undefined);
    const outcome = { result: 'Succeeded', reason: 'ChecksPassed' } as const;
    await reportRun(admin, { name: 'one', namespace: team }, { usage, snapshots, outcome });
    await until('it has ended', async () => (await task('one')).status?.phase === 'Succeeded');
    await until('its sandbox is gone', async () => (await sandboxes('one')).length === 0);
    const pool = await client(resources.expertPools).get({ namespace: team, name: 'coding' });
    expect(findCondition(pool.status?.conditions, 'Accepted')).toMatchObject({ status: 'True' });
    expect((await client(resources.deployments).list({ namespace: team })).length).toBeGreaterThan(1);
    // A pool that it does not see is none.
    expect(findCondition((await task('abroad')).status?.conditions, 'Accepted')).toMatchObject({ status: 'False', reason: 'PoolNotFound' });
    expect((await task('one', other)).status).toBeUndefined();
    expect((await client(resources.expertPools).get({ namespace: other, name: 'coding' })).status).toBeUndefined();
    for (const resource of [resources.deployments, resources.pods, resources.roles, resources.services])
      expect(await client<KubeObject>(resource).list({ namespace: other, labelSelector: labels.component })).toEqual([]);
    expect((await client<Lease>(leases).find({ namespace: system, name: 'agentfleet-operator' }))?.metadata.namespace).toBe(system);
    expect(refused).toEqual([]);
  });
});
