// The largest objects and the longest names on a real API server: it accepts them and the operator's objects.
import { findCondition, keyOf, ResourceClient, type KubeObject, type Resource, type Transport } from '@agentfleet/kube';
import type { AgentTask, Run } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { longName } from '../../operator/test/limits/atLimit.ts';
import { faultsOf } from '../../operator/test/limits/bounds.ts';
import { written } from '../../operator/test/limits/written.ts';
import {
  artifacts,
  beyondRunning,
  largestModel,
  largestOrder,
  largestPool,
  largestTask,
  longest,
} from '../../operator/test/limits/objects.ts';
import { type Pod, resources } from '../../operator/src/runtime/resources.ts';
import { workerServiceAccount } from '../../operator/src/pools/names.ts';
import { connect, enabled, install, until, whoAmI, type Server } from './api/server.ts';
import { operatorTransport } from './operatorAccount.ts';
import { administrator, beat, contractConfig, reportRun, runOperator, startPod, startWorker } from './wholeOperator.ts';

const { namespace } = longest;
const smile = '\u{1F9EA}';
const noWarm = { 'spec.sandbox.warm': () => [] };

describe.runIf(enabled)('the largest objects', () => {
  let server: Server;
  let transport: Transport;
  let stop: () => Promise<void>;

  const client = <T extends KubeObject>(resource: Resource<T>): ResourceClient<T> => new ResourceClient<T>(transport, resource);
  const task = (name: string): Promise<AgentTask> => client(resources.agentTasks).get({ namespace, name });
  const reason = async (name: string, type: string): Promise<string | undefined> =>
    findCondition((await task(name)).status?.conditions, type)?.reason;
  const sandboxes = (name: string): Promise<Pod[]> =>
    client<Pod>(resources.pods).list({ namespace, labelSelector: `${labels.task}=${name}` });
  const faults = async (): Promise<readonly string[]> => {
    const lists = await Promise.all(written.map((resource) => client(resource).list({ namespace })));
    return lists.flat().flatMap(faultsOf);
  };
  const create = async (name: string, object: AgentTask): Promise<void> => {
    await client(resources.agentTasks).create({ ...object, metadata: { ...object.metadata, name } });
  };

  /** Objects that the largest ones name, and a namespace that the largest pool selects; its pods are one worker and sandboxes. */
  const prepare = async (): Promise<void> => {
    const post = async (path: string, body: object): Promise<void> => {
      const { status, body: answer } = await server.ask('POST', path, { body });
      if (status !== 201 && status !== 409) throw new Error(`${path}: ${answer.message}`);
    };
    const own = largestPool().spec.allowedNamespaces.selector?.matchLabels;
    await post('/api/v1/namespaces', { metadata: { name: namespace, labels: own } });
    await post('/apis/node.k8s.io/v1/runtimeclasses', { metadata: { name: longest.className }, handler: 'none' });
    await post('/apis/scheduling.k8s.io/v1/priorityclasses', { metadata: { name: longest.className }, value: 1 });
    const account = { namespace, name: 'default' };
    await until('the default account', async () => (await client(resources.serviceAccounts).find(account)) !== undefined);
    await client(resources.serviceAccounts).create({ metadata: { name: workerServiceAccount(longest.name), namespace } });
    await startWorker(transport, namespace, longest.name);
  };

  beforeAll(async () => {
    server = await connect();
    await install(server);
    transport = await administrator();
    await prepare();
    await beat(transport, namespace);
    const timer = setInterval(() => void beat(transport, namespace).catch(() => undefined), 5000);
    const end = runOperator(await operatorTransport(server, namespace), contractConfig, 'limits');
    stop = async () => {
      clearInterval(timer);
      await end();
    };
  });

  afterAll(async () => {
    await server.ask('DELETE', `/api/v1/namespaces/${namespace}`);
    await until(
      'all sandboxes are gone',
      async () => (await client<Pod>(resources.pods).list({ namespace, labelSelector: `${labels.component}=sandbox` })).length === 0,
    );
    await stop();
    await server.ask('DELETE', `/apis/node.k8s.io/v1/runtimeclasses/${longest.className}`);
    await server.ask('DELETE', `/apis/scheduling.k8s.io/v1/priorityclasses/${longest.className}`);
    await transport.close();
  });

  it('are accepted, pools and models too, and their operands are legal', async () => {
    // The largest allowed number of pods would be 2,700: unit tests cover the numbers. Without a worker no task begins.
    const few = { 'spec.workers.replicas': () => 1, 'spec.experts[].replicas': () => 0, ...noWarm };
    await client(resources.expertPools).create(largestPool(few));
    await client(resources.energyModels).create(
      largestModel({ 'spec.artifact.uri': () => 'builtin://features-v1', 'spec.resources.replicas': () => 0 }),
    );
    const deployments = async (): Promise<number> => (await client(resources.deployments).list({ namespace })).length;
    // Of sixteen experts (two are behind a gateway, which has no requests here, one is a program, one lacks its
    // recording), workers and model.
    await until('their Deployments are there', async () => (await deployments()) >= 13);
    expect(await faults()).toEqual([]);
  });

  it.for(['Git', 'Inline'] as const)('are taken: a task with workspace %s, whose sandbox is taken too, ends', async (workspace) => {
    const name = workspace === 'Git' ? longest.name : `${workspace.toLowerCase()}-task`;
    await create(name, largestTask(workspace));
    await until('its sandbox is there', async () => (await sandboxes(name)).length === 1);
    const [pod] = await sandboxes(name);
    expect(Buffer.byteLength(JSON.stringify(pod))).toBeLessThan(400_000);
    await startPod(transport, pod!);
    await until('it is ready', async () => (await reason(name, 'SandboxReady')) === 'Ready');
    const outcome: Run['outcome'] = { result: 'Failed', class: 'InvalidInput', reason: 'InvalidInput', message: `a${smile.repeat(511)}` };
    await reportRun(transport, { name, namespace }, { outcome });
    await until('it has ended', async () => (await task(name)).status?.finished === 'true');
    expect(await faults()).toEqual([]);
  });

  it('report why they get no sandbox', async () => {
    await create('patient', largestTask('Git', { 'spec.dependsOn': beyondRunning['spec.dependsOn']! }));
    await until('it waits', async () => (await reason('patient', 'Scheduled')) === 'DependencyPending');
    await create('poolless', largestTask('Git', { 'spec.poolRef.name': () => longName(253) }));
    await until('it is refused', async () => (await reason('poolless', 'Accepted')) === 'PoolNotFound');
    expect(await faults()).toEqual([]);
  });

  it('are refused beyond: names that no label takes, more bytes than etcd', async () => {
    const refused = async (object: KubeObject, resource: Resource): Promise<unknown> =>
      client(resource)
        .create(object)
        .then(
          () => `${keyOf(object)} was taken`,
          (error: unknown) => (error as Error).message,
        );
    const long = { namespace, name: longName(64) };
    const words = 'metadata.name may have 63 characters';
    expect(await refused({ ...largestTask('Git'), metadata: long }, resources.agentTasks as Resource)).toContain(words);
    expect(await refused({ ...largestPool(), metadata: long }, resources.expertPools as Resource)).toContain(words);
    expect(await refused({ ...largestModel(), metadata: long }, resources.energyModels as Resource)).toContain(words);
    const huge = largestTask('Git', {
      'spec.checks[].command': (at) => (at < artifacts ? undefined : Array.from({ length: 64 }, () => 'x'.repeat(8192))),
    });
    expect(await refused(huge, resources.agentTasks as Resource)).toMatch(/too large|limit/i);
  });

  it('an order with a name of 253 characters is answered', async () => {
    const order = largestOrder('Cancel', await whoAmI(server));
    await client(resources.agentTaskOrders).create({ ...order, spec: { ...order.spec, taskRef: { name: 'patient' } } });
    await until('it is done', async () => (await client(resources.agentTaskOrders).get(order.metadata)).status?.state === 'Done');
    await until('the task has ended', async () => (await task('patient')).status?.phase === 'Cancelled');
    expect(await faults()).toEqual([]);
  });
});
