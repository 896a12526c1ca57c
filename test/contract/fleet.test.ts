// The whole operator on a real API server: the example fleet becomes objects, and unchanged ones are not written again.
import { readFile } from 'node:fs/promises';
import { findCondition, keyOf, ResourceClient, type KubeObject, type Resource, type Transport } from '@agentfleet/kube';
import type { Condition, EnergyModel, ExpertPool, ExpertScale } from '@agentfleet/protocol/api';
import { briefKey, type PoolBrief } from '@agentfleet/protocol/pool';
import { execa } from 'execa';
import { loadAll } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { up } from '../../hack/cluster/index.ts';
import { goldenServiceAccount, workersName } from '../../operator/src/pools/names.ts';
import { type ConfigMap, resources } from '../../operator/src/runtime/resources.ts';
import { collection, connect, createNamespace, enabled, install, until, type Server } from './api/server.ts';
import { operatorTransport } from './operatorAccount.ts';
import { administrator, contractConfig, counted, runOperator } from './wholeOperator.ts';

const egress = { registries: [{ host: 'packages.example.com', port: 443 }], environment: { REGISTRY: 'https://packages.example.com/' } };

describe.runIf(enabled)('the fleet', () => {
  let server: Server;
  let namespace: string;
  let transport: Transport;
  let stop: () => Promise<void>;
  /** Writes of the operator in the namespace of this file, apart from Events. */
  const writes: string[] = [];

  const client = <T extends KubeObject>(resource: Resource<T>): ResourceClient<T> => new ResourceClient<T>(transport, resource);
  const names = async (resource: Resource): Promise<readonly string[]> =>
    (await client(resource).list({ namespace })).map(({ metadata }) => metadata.name).toSorted();
  const model = (name: string): Promise<EnergyModel> => client(resources.energyModels).get({ namespace, name });
  const pool = (name: string): Promise<ExpertPool> => client(resources.expertPools).get({ namespace, name });
  const said = ({ status }: EnergyModel | ExpertPool, type: string): Condition | undefined => findCondition(status?.conditions, type);
  const brief = async (name: string): Promise<PoolBrief> => {
    const { data } = await client<ConfigMap>(resources.configMaps).get({ namespace, name: `${name}-workers` });
    return JSON.parse(data?.[briefKey] ?? '') as PoolBrief;
  };

  /** An object of examples/fleet.yaml in the namespace of this file, with these changes of its spec. */
  const create = async (kind: string, name: string, spec: object = {}): Promise<void> => {
    const file = new URL('../../examples/fleet.yaml', import.meta.url);
    const found = (loadAll(await readFile(file, 'utf8')) as { kind: string; spec: object }[]).find((object) => object.kind === kind)!;
    const body = { ...found, metadata: { name, namespace }, spec: { ...found.spec, ...spec } };
    const resource: Resource = kind === 'EnergyModel' ? resources.energyModels : resources.expertPools;
    await client(resource).create(body);
  };

  /** Waits until the operator writes nothing for a second. */
  const quiet = async (): Promise<void> => {
    let [count, calm] = [-1, 0];
    await until('the operator rests', () => {
      calm = writes.length === count ? calm + 1 : 0;
      count = writes.length;
      return Promise.resolve(calm >= 20);
    });
  };

  beforeAll(async () => {
    server = await connect();
    await install(server);
    namespace = await createNamespace(server);
    transport = await administrator();
    // Where the cluster has a kubelet, it must not pull images that do not exist.
    const quotas = `/api/v1/namespaces/${namespace}/resourcequotas`;
    await server.ask('POST', quotas, { body: { metadata: { name: 'no-pods' }, spec: { hard: { pods: '0' } } } });
    await until('the quota counts', async () => (await server.ask('GET', `${quotas}/no-pods`)).body.status?.['hard'] !== undefined);
    const own = await operatorTransport(server, namespace);
    const counts = (path: string): boolean => path.includes(`/${namespace}/`) && !path.includes('/events');
    stop = runOperator(counted(own, writes, counts), { ...contractConfig, egress });
    await create('EnergyModel', 'verifier');
    // No tasks of other tests, and no warm sandboxes in a namespace that may be missing.
    await create('ExpertPool', 'fleet', { allowedNamespaces: { from: 'Same' }, sandbox: {} });
    await until('the pool has a status', async () => said(await pool('fleet'), 'Ready') !== undefined);
    await until('the model has a status', async () => said(await model('verifier'), 'Ready') !== undefined);
  });
  afterAll(async () => {
    await stop();
    await server.ask('DELETE', `/api/v1/namespaces/${namespace}`);
    await transport.close();
  });

  it('has a Deployment, an address and a wall for every role whose image is set', async () => {
    const experts = ['embed', 'gen', 'hrm', 'tpc'].map((name) => `fleet-expert-${name}`);
    expect(await names(resources.deployments)).toEqual([...experts, 'fleet-workers', 'verifier-verifier']);
    expect(await names(resources.services)).toEqual([...experts, 'fleet-expert-prior', 'verifier-verifier'].toSorted());
    expect(await names(resources.networkPolicies)).toEqual(expect.arrayContaining(['fleet-experts', 'fleet-workers', 'verifier-verifier']));
  });

  it('reports the state of each expert, and the fallbacks', async () => {
    const { status } = await pool('fleet');
    expect(status?.experts?.map(({ name, phase }) => `${name} ${phase}`)).toEqual([
      'gen Starting',
      'prior Unavailable',
      'hrm Starting',
      'embed Starting',
      'tpc Starting',
    ]);
    const degraded = said(await pool('fleet'), 'Degraded');
    expect(degraded?.reason).toBe('ImageNotSet');
    expect(degraded?.message).toContain('images.inferenceLlama');
    expect(said(await pool('fleet'), 'Stalled')).toBeUndefined();
  });

  it('writes verifier, compute settings and registries to the brief of the workers', async () => {
    const { verifier, profiles, experts, egress: reported } = await brief('fleet');
    expect(verifier).toMatchObject({
      name: 'verifier',
      url: `http://verifier-verifier.${namespace}.svc:7080`,
      whenUnavailable: 'FailClosed',
    });
    expect(profiles).toMatchObject({ default: { kBase: 2, kMax: 8 } });
    expect(experts.map(({ name }) => name)).toEqual(['gen', 'hrm', 'embed', 'tpc']);
    expect(reported).toEqual(egress);
  });

  it('reports the state of the model', async () => {
    const { status } = await model('verifier');
    expect(status).toMatchObject({
      ready: 0,
      arms: [
        {
          endpoint: `http://verifier-verifier.${namespace}.svc:7080`,
          thresholdsInForce: { vetoBelowProbability: '0.15', warnBelowProbability: '0.35' },
        },
      ],
    });
  });

  it('reports existing artifacts, and the model that a pool lacks', async () => {
    await create('EnergyModel', 'unknown', { artifact: { uri: 'builtin://features-v9' } });
    await until('it is said', async () => said(await model('unknown'), 'Stalled')?.reason === 'ArtifactUnknown');
    expect(said(await model('unknown'), 'Ready')?.message).toContain('builtin://features-v1');
    await create('ExpertPool', 'alone', { allowedNamespaces: { from: 'Same' }, sandbox: {}, energyModelRef: { name: 'absent' } });
    await until('it is missed', async () => said(await pool('alone'), 'Degraded')?.message.includes('no EnergyModel absent') === true);
    expect((await brief('alone')).verifier).toBeNull();
  });

  it('writes nothing while no reported value changes, however often it reconciles', async () => {
    await quiet();
    const before = writes.length;
    expect(before).toBeGreaterThan(0);
    const looks: readonly (readonly [Resource, string])[] = [
      [resources.deployments, 'verifier-verifier'],
      [resources.deployments, 'fleet-expert-hrm'],
      [resources.services, 'fleet-expert-embed'],
      [resources.networkPolicies, 'verifier-verifier'],
    ];
    for (const [resource, name] of looks)
      await client(resource).patch({ namespace, name }, { metadata: { annotations: { look: 'again' } } });
    await quiet();
    expect(writes.slice(before)).toEqual([]);
  });

  it('removes objects that a pool no longer wants', async () => {
    const own = { namespace, name: 'less' };
    const policy = { metadata: { name: 'golden', namespace }, spec: { gates: [{ name: 'loss', metric: 'TaskLoss', atMost: '0.03' }] } };
    await client<KubeObject>(resources.rolloutPolicies).create(policy);
    const more = { rolloutPolicyRef: { name: 'golden' }, workers: { replicas: 2 } };
    await create('ExpertPool', own.name, { allowedNamespaces: { from: 'Same' }, sandbox: {}, ...more });
    const golden = async (): Promise<boolean> => (await names(resources.serviceAccounts)).includes(goldenServiceAccount(own.name));
    const budget = async (): Promise<boolean> => (await names(resources.podDisruptionBudgets)).includes(workersName(own.name));
    await until('both are there', async () => (await golden()) && (await budget()));
    await client(resources.expertPools).patch(own, { spec: { rolloutPolicyRef: null, workers: { replicas: 1 } } });
    await until('both are gone', async () => !(await golden()) && !(await budget()));
  });

  it('runs as many pods of an expert as kubectl, the scale endpoint and an autoscaler ask for', async () => {
    const page = await readFile(new URL('../../docs/operations.md', import.meta.url), 'utf8');
    const [, text = ''] = /## Scale\n[\s\S]*?```yaml\n([\s\S]*?)```/.exec(page) ?? [];
    const here = text.replaceAll('agentfleet-pools', namespace).replaceAll('{ name: coding }', '{ name: fleet }');
    const [scale, autoscaler] = loadAll(here) as [ExpertScale, KubeObject];
    const path = collection(namespace, 'expertscales');
    expect((await server.ask('POST', `${path}?fieldValidation=Strict`, { body: scale })).body.message).toBeUndefined();
    const own = { namespace, name: scale.metadata.name };
    const replicas = async (): Promise<number | undefined> =>
      (await client(resources.deployments).get({ namespace, name: 'fleet-expert-gen' })).spec?.replicas;
    const asks = async (count: number): Promise<void> => {
      await until(`${count} are granted`, async () => (await client(resources.expertScales).get(own)).status?.granted === count);
      await until(`${count} are run`, async () => (await replicas()) === count);
    };
    await asks(1);

    const cluster = await up({ tier: 'control-plane' });
    await execa(cluster.bin('kubectl'), [
      `--kubeconfig=${cluster.kubeconfig}`,
      'scale',
      `expertscale/${own.name}`,
      `-n=${namespace}`,
      '--replicas=3',
    ]);
    await asks(3);
    const merge = { body: { spec: { replicas: 2 } }, type: 'application/merge-patch+json' };
    expect((await server.ask('PATCH', `${path}/${own.name}/scale`, merge)).status).toBe(200);
    await asks(2);
    const { body } = await server.ask('GET', `${path}/${own.name}/scale`);
    const selector = 'agentfleet.dev/component=expert,agentfleet.dev/pool=fleet,agentfleet.dev/expert=gen';
    expect(body).toMatchObject({ kind: 'Scale', spec: { replicas: 2 }, status: { selector } });
    expect((await server.ask('PATCH', `${path}/${own.name}/scale`, { ...merge, body: { spec: { replicas: 101 } } })).status).toBe(422);

    const autoscalers = `/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers`;
    const strictly = `${autoscalers}?fieldValidation=Strict`;
    expect((await server.ask('POST', `${strictly}&dryRun=All`, { body: autoscaler })).body.message).toBeUndefined();
    // Below its least number it asks no metric first, and there are none here.
    const eager = { ...autoscaler, spec: { ...(autoscaler as unknown as { spec: object }).spec, minReplicas: 4 } };
    expect((await server.ask('POST', strictly, { body: eager })).status).toBe(201);
    await asks(4);
    const { status } = (await server.ask('GET', `${autoscalers}/${own.name}`)).body;
    expect(findCondition(status?.['conditions'] as Condition[] | undefined, 'AbleToScale')?.status).toBe('True');
    await server.ask('DELETE', `${autoscalers}/${own.name}`);

    const second = { ...scale, metadata: { name: 'second', namespace } };
    await client(resources.expertScales).create(second);
    const secondSays = async (): Promise<string | undefined> =>
      findCondition((await client(resources.expertScales).get({ namespace, name: 'second' })).status?.conditions, 'Ready')?.reason;
    await until('it is refused', async () => (await secondSays()) === 'AlreadyScaled');
    await client(resources.expertScales).delete(own);
    await until('the second counts', async () => (await secondSays()) === 'Progressing');
    await until('as the second says', async () => (await replicas()) === 1);
    await client(resources.expertScales).delete({ namespace, name: 'second' });
  });

  it('loses the objects of a model, and tells the workers by their brief', async () => {
    await client(resources.energyModels).delete({ namespace, name: 'verifier' });
    await until('the brief forgets it', async () => (await brief('fleet')).verifier === null);
    await until('its pods go', async () => !(await names(resources.deployments)).includes('verifier-verifier'));
    await until('its address goes', async () => !(await names(resources.services)).includes('verifier-verifier'));
    expect(keyOf(await pool('fleet'))).toBe(`${namespace}/fleet`);
  });
});
