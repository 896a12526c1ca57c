// The controllers of tasks and orders on a real API server: its schemas, its apply, its garbage collector.
import {
  createTransport,
  findCondition,
  kubeconfigConfig,
  leases,
  ResourceClient,
  silentLog,
  systemClock,
  type KubeObject,
  type Lease,
  type NewEvent,
  type Transport,
} from '@agentfleet/kube';
import type { AgentTask, AgentTaskOrder, ExpertPool, Run } from '@agentfleet/protocol/api';
import { briefKey, labels } from '@agentfleet/protocol/pool';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { kubeconfigPath } from '../../hack/cluster/index.ts';
import { createAgentTaskController } from '../../operator/src/controllers/agenttask/controller.ts';
import { jwksConfigMap } from '../../operator/src/controllers/agenttask/names.ts';
import { createAgentTaskOrderController } from '../../operator/src/controllers/agenttaskorder/controller.ts';
import { briefName } from '../../operator/src/pools/names.ts';
import { createCaches } from '../../operator/src/runtime/caches.ts';
import type { OperatorContext } from '../../operator/src/runtime/context.ts';
import type { ConfigMap, Pod } from '../../operator/src/runtime/objects.ts';
import { resources } from '../../operator/src/runtime/resources.ts';
import { minimalTask } from './api/examples.ts';
import { connect, createNamespace, enabled, install, until, whoAmI, type Server } from './api/server.ts';

const fieldManager = 'contract';
/** No node has it: where the cluster has a kubelet, that must not look at the pods of these tests. */
const nodeSelector = { 'contract.invalid/kubelet': 'none' };
const usage = { tokensIn: 0, tokensOut: 0, toolCalls: 3, cpuMillis: 40, wallSeconds: 5, candidates: 6, vetoes: 0, backtracks: 1 };
const snapshots = { initial: 's0001', count: 1 };

describe.runIf(enabled)('controllers of tasks', () => {
  let server: Server;
  let namespace: string;
  let transport: Transport;
  let stop: () => Promise<void>;
  const events: NewEvent[] = [];
  /** Writes of the controllers, and what they told of sandboxes that are not ready. */
  const writes: string[] = [];
  const reasons: string[] = [];
  const worker = 'worker-0';

  const client = <T extends KubeObject>(resource: ConstructorParameters<typeof ResourceClient<T>>[1]): ResourceClient<T> =>
    new ResourceClient(transport, resource);
  const task = (name: string): Promise<AgentTask> => client(resources.agentTasks).get({ namespace, name });
  const told = async (name: string, type: string): Promise<string> => {
    const condition = findCondition((await task(name)).status?.conditions, type);
    return `${condition?.status ?? '-'}/${condition?.reason ?? '-'}`;
  };
  const sandboxes = async (name: string): Promise<Pod[]> =>
    client<Pod>(resources.pods).list({ namespace, labelSelector: `${labels.task}=${name}` });

  /** Plays the worker. */
  const report = async (name: string, run: Partial<Run>): Promise<void> => {
    const { status } = await task(name);
    const { attempt, epoch } = status!.assignment!;
    await client(resources.agentTasks).applyStatus(
      { metadata: { name, namespace }, status: { run: { attempt, epoch, ...run } } },
      { fieldManager: 'agentfleet-worker' },
    );
  };

  /** Plays the kubelet. */
  const startSandbox = async (name: string): Promise<void> => {
    await until(`the sandbox of ${name}`, async () => (await sandboxes(name)).length === 1);
    const [pod] = await sandboxes(name);
    const containerStatuses = ['keeper', 'tools'].map((container) => ({
      name: container,
      ready: true,
      restartCount: 0,
      image: 'none',
      imageID: 'none',
      state: { running: {} },
    }));
    const status = { phase: 'Running', conditions: [{ type: 'PodScheduled', status: 'True' }], containerStatuses };
    await client<Pod>(resources.pods).patch(pod!.metadata, { status }, { subresource: 'status' });
    await until(`${name} is ready`, async () => (await told(name, 'SandboxReady')) === 'True/Ready');
  };

  const create = async (name: string, spec: object = {}): Promise<void> => {
    const body = {
      ...minimalTask,
      metadata: { name, namespace },
      spec: { ...(minimalTask['spec'] as object), poolRef: { name: 'coding' }, ...spec },
    };
    await client(resources.agentTasks).create(body as unknown as AgentTask);
  };

  const prepare = async (): Promise<void> => {
    const pool = {
      metadata: { name: 'coding', namespace },
      spec: { experts: [{ name: 'gen', role: 'Generalist', engine: { type: 'Synth' } }], sandbox: { template: { nodeSelector } } },
    };
    await client(resources.expertPools).create(pool as unknown as ExpertPool);
    const ours = { [labels.component]: 'worker', [labels.pool]: 'coding' };
    const brief = {
      metadata: { name: briefName('coding'), namespace, labels: ours },
      data: { [briefKey]: JSON.stringify({ namespaces: [namespace] }) },
    };
    await client<ConfigMap>(resources.configMaps).apply(brief, { fieldManager });
    await client<ConfigMap>(resources.configMaps).apply({ metadata: { name: jwksConfigMap, namespace, labels: ours } }, { fieldManager });
    await until(
      'the default account',
      async () => (await client(resources.serviceAccounts).find({ namespace, name: 'default' })) !== undefined,
    );
    const pod = {
      metadata: { name: worker, namespace, labels: ours },
      spec: { nodeSelector, containers: [{ name: 'worker', image: 'none.invalid/none:1' }] },
    };
    await client<Pod>(resources.pods).create(pod);
    await client<Pod>(resources.pods).patch(
      pod.metadata,
      { status: { conditions: [{ type: 'Ready', status: 'True' }] } },
      { subresource: 'status' },
    );
  };

  const operate = (): (() => Promise<void>) => {
    const counted: Transport = {
      host: transport.host,
      request: (request) => {
        if (request.method !== 'GET' && request.path.includes(`/${namespace}/`)) writes.push(`${request.method} ${request.path}`);
        return transport.request(request);
      },
      stream: (request) => transport.stream(request),
      close: () => Promise.resolve(),
    };
    const common = { transport: counted, clock: systemClock, random: Math.random, log: silentLog };
    const caches = createCaches(common);
    caches.tasks.addHandler({
      onUpdate: (_, { status }) => void reasons.push(findCondition(status?.conditions, 'SandboxReady')?.reason ?? ''),
    });
    const context: OperatorContext = {
      ...common,
      config: {
        namespace,
        images: { agent: 'none', inference: 'none', sandbox: 'none.invalid/keeper:1', tools: 'none.invalid/tools:1' },
        egress: { registries: [], environment: {} },
        workerClusterRole: 'none',
      },
      registry: new Registry(),
      events: { record: (_, event) => void events.push(event) },
      caches,
      tokens: { issuer: () => 'https://issuer.invalid', jwks: () => '{}' },
    };
    const abort = new AbortController();
    const parts = [
      ...(Object.values(caches) as { run(signal: AbortSignal): Promise<void> }[]),
      createAgentTaskController(context),
      createAgentTaskOrderController(context),
    ];
    const running = Promise.all(parts.map((part) => part.run(abort.signal)));
    return async () => {
      abort.abort();
      await running;
    };
  };

  beforeAll(async () => {
    server = await connect();
    await install(server);
    namespace = await createNamespace(server);
    transport = createTransport(await kubeconfigConfig({ file: await kubeconfigPath() }), { userAgent: 'contract/1' });
    await prepare();
    const beat = async (): Promise<void> => {
      const renewTime = new Date().toISOString().replace('Z', '000Z');
      const spec = { holderIdentity: worker, leaseDurationSeconds: 20, renewTime };
      await client<Lease>(leases).apply(
        { metadata: { name: worker, namespace, labels: { [labels.component]: 'worker' } }, spec },
        { fieldManager },
      );
    };
    await beat();
    const timer = setInterval(() => void beat().catch(() => undefined), 5000);
    const end = operate();
    stop = async () => {
      clearInterval(timer);
      await end();
    };
  });

  afterAll(async () => {
    await server.ask('DELETE', `/api/v1/namespaces/${namespace}`);
    // The finalizer on sandboxes is ours: nobody else lets the namespace go.
    const component = `${labels.component}=sandbox`;
    await until(
      'all sandboxes are gone',
      async () => (await client<Pod>(resources.pods).list({ namespace, labelSelector: component })).length === 0,
    );
    await stop();
    await transport.close();
  });

  it('a minimal task comes to a ready sandbox in three writes, and succeeds', async () => {
    const before = writes.length;
    await create('minimal');
    await startSandbox('minimal');
    // Pod, assignment, readiness; and what the scheduler says where there is no node.
    const placeless = reasons.filter((reason) => reason === 'Unschedulable').length;
    expect(writes.slice(before)).toHaveLength(3 + Math.min(1, placeless));
    await report('minimal', { usage, snapshots, outcome: { result: 'Succeeded', reason: 'ChecksPassed' } });
    await until('it has ended', async () => (await task('minimal')).status?.finished === 'true');
    await until('its sandbox is gone', async () => (await sandboxes('minimal')).length === 0);
    const { status } = await task('minimal');
    expect(status).toMatchObject({ phase: 'Succeeded', totals: { usage }, attempts: [{ number: 1 }] });
    expect(await told('minimal', 'Ready')).toBe('True/Succeeded');
    expect(events.map(({ reason }) => reason)).toEqual(['Assigned', 'Succeeded']);
    expect(JSON.stringify(status).length).toBeLessThan(8192);
  });

  it('a failed attempt is followed by another one, and an order to cancel restores snapshot 0', async () => {
    await create('two', { attempts: { backoff: { seconds: 0 } } });
    await startSandbox('two');
    await report('two', { usage, snapshots, outcome: { result: 'Failed', class: 'CheckFailed', reason: 'ChecksFailed' } });
    await until('the next attempt', async () => (await task('two')).status?.assignment?.attempt === 2);
    expect((await task('two')).status).toMatchObject({ assignment: { epoch: 2, sandbox: 'two-1', directive: 'Run' }, totals: { usage } });
    const spec = { taskRef: { name: 'two' }, type: 'Cancel', requester: await whoAmI(server) };
    await client(resources.agentTaskOrders).create({ metadata: { name: 'halt', namespace }, spec } as unknown as AgentTaskOrder);
    await until('the rollback', async () => (await task('two')).status?.assignment?.directive === 'Rollback');
    await report('two', { usage, snapshots, rollback: { snapshot: 's0001', verified: true } });
    await until('it has ended', async () => (await task('two')).status?.finished === 'true');
    expect((await task('two')).status).toMatchObject({ phase: 'Cancelled', rollback: { orderRef: { name: 'halt' }, verified: true } });
    await until(
      'the order is done',
      async () => (await client(resources.agentTaskOrders).get({ namespace, name: 'halt' })).status?.state === 'Done',
    );
  });

  it('a task that is paused and deleted at work leaves neither pod nor order', async () => {
    await create('three');
    await startSandbox('three');
    await report('three', { usage, snapshots });
    await client(resources.agentTasks).patch({ namespace, name: 'three' }, { spec: { suspend: true } });
    await until('it is suspended', async () => (await told('three', 'Suspended')) === 'True/Suspended');
    expect((await task('three')).status?.clock?.pausedAt).toBeDefined();
    await client(resources.agentTasks).patch({ namespace, name: 'three' }, { spec: { suspend: false } });
    await until('it goes on', async () => (await task('three')).status?.assignment?.epoch === 2);
    expect((await task('three')).status?.clock?.pausedAt).toBeUndefined();
    await client(resources.agentTasks).delete({ namespace, name: 'three' });
    await until('its sandbox is gone', async () => (await sandboxes('three')).length === 0);
    await client(resources.agentTasks).delete({ namespace, name: 'two' });
    // The garbage collector learns of new kinds every half minute.
    await vi.waitFor(async () => expect(await client(resources.agentTaskOrders).find({ namespace, name: 'halt' })).toBeUndefined(), {
      timeout: 50_000,
      interval: 200,
    });
  });
});
