// The controllers of tasks, orders and warm sandboxes on a real API server; workers and the kubelet are played.
import {
  createTransport,
  findCondition,
  keyOf,
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
import { kubeconfigPath } from '../../hack/cluster/index.ts';
import { createAgentTaskController } from '../../operator/src/controllers/agenttask/index.ts';
import { jwksConfigMap } from '../../operator/src/controllers/agenttask/sandbox/pod.ts';
import { createAgentTaskOrderController } from '../../operator/src/controllers/agenttaskorder/controller.ts';
import { createWarmPoolController } from '../../operator/src/controllers/warmpool/index.ts';
import { briefName, workerServiceAccount } from '../../operator/src/pools/names.ts';
import { createCaches } from '../../operator/src/runtime/caches.ts';
import type { Caches, OperatorContext } from '../../operator/src/runtime/context.ts';
import { type ConfigMap, type Pod, resources } from '../../operator/src/runtime/resources.ts';
import { minimalTask } from './api/examples.ts';
import { connect, createNamespace, install, until, whoAmI, type Server } from './api/server.ts';
import { operatorTransport } from './operatorAccount.ts';

const fieldManager = 'contract';
/** No node has it: where the cluster has a kubelet, that must not look at the pods of these tests. */
const nodeSelector = { 'contract.invalid/kubelet': 'none' };
const worker = 'worker-0';

/** One namespace with a pool, a worker that renews its Lease, and a running operator. */
export class TaskBed {
  readonly server: Server;
  readonly namespace: string;
  readonly events: NewEvent[] = [];
  /** Writes of the controllers. */
  readonly writes: string[] = [];
  /** The controllers' reports about sandboxes. */
  readonly reasons: string[] = [];
  readonly #transport: Transport;
  /** Transport of the controllers. */
  readonly #own: Transport;
  /** Caches of the controllers. */
  #caches: Caches | undefined;
  #stop: () => Promise<void> = () => Promise.resolve();

  private constructor(server: Server, namespace: string, transport: Transport, own: Transport) {
    this.server = server;
    this.namespace = namespace;
    this.#transport = transport;
    this.#own = own;
  }

  /** `sandbox`: more of the pool's `spec.sandbox`. `kueue`: as with kueue.enabled of the chart. */
  static async start(sandbox: (namespace: string) => object = () => ({}), { kueue = false } = {}): Promise<TaskBed> {
    const server = await connect();
    await install(server);
    const namespace = await createNamespace(server);
    const transport = createTransport(await kubeconfigConfig({ file: await kubeconfigPath() }), { userAgent: 'contract/1' });
    const bed = new TaskBed(server, namespace, transport, await operatorTransport(server, namespace, { kueue }));
    await bed.#prepare(sandbox(namespace));
    await bed.#beat();
    const timer = setInterval(() => void bed.#beat().catch(() => undefined), 5000);
    const end = bed.#operate(kueue);
    bed.#stop = async () => {
      clearInterval(timer);
      await end();
    };
    return bed;
  }

  async close(): Promise<void> {
    await this.server.ask('DELETE', `/api/v1/namespaces/${this.namespace}`);
    // The finalizer on sandboxes is the test's: nothing else lets the namespace be removed.
    await until('all sandboxes are gone', async () => (await this.pods(`${labels.component}=sandbox`)).length === 0);
    await this.#stop();
    await Promise.all([this.#transport.close(), this.#own.close()]);
  }

  client<T extends KubeObject>(resource: ConstructorParameters<typeof ResourceClient<T>>[1]): ResourceClient<T> {
    return new ResourceClient(this.#transport, resource);
  }

  task(name: string): Promise<AgentTask> {
    return this.client(resources.agentTasks).get({ namespace: this.namespace, name });
  }

  /** `status/reason` of a condition. */
  async reported(name: string, type: string): Promise<string> {
    const condition = findCondition((await this.task(name)).status?.conditions, type);
    return `${condition?.status ?? '-'}/${condition?.reason ?? '-'}`;
  }

  pods(labelSelector: string): Promise<Pod[]> {
    return this.client<Pod>(resources.pods).list({ namespace: this.namespace, labelSelector });
  }

  sandboxes(task: string): Promise<Pod[]> {
    return this.pods(`${labels.task}=${task}`);
  }

  async create(name: string, spec: object = {}, own: Readonly<Record<string, string>> = {}): Promise<void> {
    const body = {
      ...minimalTask,
      metadata: { name, namespace: this.namespace, labels: own },
      spec: { ...(minimalTask['spec'] as object), poolRef: { name: 'coding' }, ...spec },
    };
    await this.client(resources.agentTasks).create(body as unknown as AgentTask);
  }

  /** Gives an order in the caller's name. */
  async order(name: string, spec: Pick<AgentTaskOrder['spec'], 'taskRef' | 'type'> & { readonly action?: string }): Promise<void> {
    const body = { metadata: { name, namespace: this.namespace }, spec: { ...spec, requester: await whoAmI(this.server) } };
    await this.client(resources.agentTaskOrders).create(body as unknown as AgentTaskOrder);
  }

  async orderState(name: string): Promise<string | undefined> {
    const { status } = await this.client(resources.agentTaskOrders).get({ namespace: this.namespace, name });
    return status?.state;
  }

  /** Plays the worker. */
  async report(name: string, run: Partial<Run>): Promise<void> {
    const { status } = await this.task(name);
    const { attempt, epoch } = status!.assignment!;
    await this.client(resources.agentTasks).applyStatus(
      { metadata: { name, namespace: this.namespace }, status: { run: { attempt, epoch, ...run } } },
      { fieldManager: 'agentfleet-worker' },
    );
  }

  /** Plays the kubelet, and waits until the controllers have seen it. */
  async startPod(pod: Pod): Promise<void> {
    const containerStatuses = ['keeper', 'tools'].map((container) => ({
      name: container,
      ready: true,
      restartCount: 0,
      image: 'none',
      imageID: 'none',
      state: { running: {} },
    }));
    const status = { phase: 'Running', conditions: [{ type: 'PodScheduled', status: 'True' }], containerStatuses };
    const started = await this.client<Pod>(resources.pods).patch(pod.metadata, { status }, { subresource: 'status' });
    // A task created before the controllers have seen the pod start gets another one.
    const seen = () => this.#caches?.pods.lister.get(keyOf(started))?.metadata.resourceVersion ?? '0';
    await until(`the operator sees ${pod.metadata.name} start`, () =>
      Promise.resolve(BigInt(seen()) >= BigInt(started.metadata.resourceVersion ?? '0')),
    );
  }

  async startSandbox(name: string): Promise<void> {
    await until(`the sandbox of ${name}`, async () => (await this.sandboxes(name)).length === 1);
    const [pod] = await this.sandboxes(name);
    await this.startPod(pod!);
    await until(`${name} is ready`, async () => (await this.reported(name, 'SandboxReady')) === 'True/Ready');
  }

  async #prepare(sandbox: object): Promise<void> {
    const { namespace } = this;
    const pool = {
      metadata: { name: 'coding', namespace },
      spec: {
        experts: [{ name: 'gen', role: 'Generalist', engine: { type: 'Synth' } }],
        sandbox: { template: { nodeSelector }, ...sandbox },
      },
    };
    await this.client(resources.expertPools).create(pool as unknown as ExpertPool);
    const accepted = { type: 'Accepted', status: 'True', reason: 'Accepted', message: '', lastTransitionTime: '2030-01-01T00:00:00Z' };
    await this.client(resources.expertPools).patch(
      { namespace, name: 'coding' },
      { status: { conditions: [accepted] } },
      { subresource: 'status' },
    );
    const ours = { [labels.component]: 'worker', [labels.pool]: 'coding' };
    const brief = {
      metadata: { name: briefName('coding'), namespace, labels: ours },
      data: { [briefKey]: JSON.stringify({ namespaces: [namespace] }) },
    };
    const maps = this.client<ConfigMap>(resources.configMaps);
    await maps.apply(brief, { fieldManager });
    await maps.apply({ metadata: { name: jwksConfigMap, namespace, labels: ours } }, { fieldManager });
    const account = { namespace, name: 'default' };
    await until('the default account', async () => (await this.client(resources.serviceAccounts).find(account)) !== undefined);
    const pod = {
      metadata: { name: worker, namespace, labels: ours },
      spec: {
        serviceAccountName: workerServiceAccount('coding'),
        nodeSelector,
        containers: [{ name: 'worker', image: 'none.invalid/none:1' }],
      },
    };
    await this.client(resources.serviceAccounts).create({ metadata: { name: workerServiceAccount('coding'), namespace } });
    const ready = { status: { conditions: [{ type: 'Ready', status: 'True' }] } };
    await this.client<Pod>(resources.pods).create(pod);
    await this.client<Pod>(resources.pods).patch(pod.metadata, ready, { subresource: 'status' });
  }

  #counted(): Transport {
    const transport = this.#own;
    return {
      host: transport.host,
      request: (request) => {
        if (request.method !== 'GET' && request.path.includes(`/${this.namespace}/`)) this.writes.push(`${request.method} ${request.path}`);
        return transport.request(request);
      },
      stream: (request) => transport.stream(request),
      close: () => Promise.resolve(),
    };
  }

  #operate(kueue: boolean): () => Promise<void> {
    const common = { transport: this.#counted(), clock: systemClock, random: Math.random, log: silentLog, kueue };
    const caches = createCaches(common);
    this.#caches = caches;
    caches.tasks.addHandler({
      onUpdate: (_, { status }) => void this.reasons.push(findCondition(status?.conditions, 'SandboxReady')?.reason ?? ''),
    });
    const context: OperatorContext = {
      ...common,
      config: {
        namespace: this.namespace,
        images: { agent: 'none', inference: 'none', inferenceLlama: '', sandbox: 'none.invalid/keeper:1', tools: 'none.invalid/tools:1' },
        egress: { registries: [], environment: {} },
        platformNamespaces: [],
        workerClusterRole: 'agentfleet-worker',
        kueue,
      },
      registry: new Registry(),
      // The operator looks at the tasks of all files.
      events: { record: ({ metadata }, event) => void (metadata.namespace === this.namespace && this.events.push(event)) },
      caches,
      tokens: { issuer: () => 'https://issuer.invalid', jwks: () => '{}', onChange: () => () => {} },
    };
    const abort = new AbortController();
    const parts = [
      ...(Object.values(caches) as { run(signal: AbortSignal): Promise<void> }[]),
      createAgentTaskController(context),
      createAgentTaskOrderController(context),
      createWarmPoolController(context),
    ];
    const running = Promise.all(parts.map((part) => part.run(abort.signal)));
    return async () => {
      abort.abort();
      await running;
    };
  }

  async #beat(): Promise<void> {
    const renewTime = new Date().toISOString().replace('Z', '000Z');
    const spec = { holderIdentity: worker, leaseDurationSeconds: 20, renewTime };
    const metadata = { name: worker, namespace: this.namespace, labels: { [labels.component]: 'worker' } };
    await this.client<Lease>(leases).apply({ metadata, spec }, { fieldManager });
  }
}
