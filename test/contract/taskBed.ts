// The controllers of tasks, orders and warm sandboxes on a real API server; workers and the kubelet are played.
import {
  findCondition,
  keyOf,
  ResourceClient,
  silentLog,
  systemClock,
  type KubeObject,
  type NewEvent,
  type Transport,
} from '@agentfleet/kube';
import type { AgentTask, AgentTaskOrder, ExpertPool, Run } from '@agentfleet/protocol/api';
import { briefKey, labels } from '@agentfleet/protocol/pool';
import { Registry } from 'prom-client';
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
import { administrator, beat, counted, fieldManager, nodeSelector, reportRun, startPod, startWorker } from './wholeOperator.ts';

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
    const transport = await administrator();
    const bed = new TaskBed(server, namespace, transport, await operatorTransport(server, namespace, { kueue }));
    await bed.#prepare(sandbox(namespace));
    await beat(transport, namespace);
    const timer = setInterval(() => void beat(transport, namespace).catch(() => undefined), 5000);
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
  report(name: string, run: Partial<Run>): Promise<void> {
    return reportRun(this.#transport, { name, namespace: this.namespace }, run);
  }

  /** Plays the kubelet, and waits until the controllers have seen it. */
  async startPod(pod: Pod): Promise<void> {
    const started = await startPod(this.#transport, pod);
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
    await this.client(resources.serviceAccounts).create({ metadata: { name: workerServiceAccount('coding'), namespace } });
    await startWorker(this.#transport, namespace, 'coding');
  }

  #operate(kueue: boolean): () => Promise<void> {
    const transport = counted(this.#own, this.writes, (path) => path.includes(`/${this.namespace}/`));
    const common = { transport, clock: systemClock, random: Math.random, log: silentLog, kueue };
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
}
