import {
  createTransport,
  leases,
  ResourceClient,
  silentLog,
  systemClock,
  type Controller,
  type KubeObject,
  type Lease,
  type NewEvent,
  type Transport,
} from '@agentfleet/kube';
import { settle, startFakeServer, VirtualClock, type FakeApiServer, type SeenRequest } from '@agentfleet/kube/testing';
import type { AgentTask, AgentTaskOrder, ExpertPool } from '@agentfleet/protocol/api';
import { briefKey, labels } from '@agentfleet/protocol/pool';
import { Registry } from 'prom-client';
import { briefName } from '../../../pools/names.ts';
import { createCaches } from '../../../runtime/caches.ts';
import { isUnclaimed } from '../../../pools/warm.ts';
import type { Caches, OperatorContext } from '../../../runtime/context.ts';
import type { ConfigMap, Pod } from '../../../runtime/objects.ts';
import { resources } from '../../../runtime/resources.ts';
import { createAgentTaskOrderController } from '../../agenttaskorder/controller.ts';
import { createWarmPoolController } from '../../warmpool/index.ts';
import { createAgentTaskController } from '../controller.ts';
import { jwksConfigMap } from '../names.ts';
import { Invariants } from './invariants.ts';
import { Kubelet } from './kubelet.ts';
import { newPool } from './objects.ts';

const kinds = [
  {
    resource: resources.agentTasks,
    statusSubresource: true,
    generation: true,
    selectableFields: ['status.assignment.worker', 'status.finished'],
  },
  { resource: resources.agentTaskOrders, statusSubresource: true, generation: true },
  { resource: resources.expertPools, statusSubresource: true, generation: true },
  { resource: resources.energyModels, statusSubresource: true, generation: true },
  { resource: resources.runtimeClasses },
  { resource: resources.storageClasses },
  { resource: resources.volumeSnapshots, statusSubresource: true },
  { resource: resources.volumeSnapshotClasses },
];

const config = {
  namespace: 'agentfleet-system',
  images: { agent: 'agent:1', inference: 'inference:1', sandbox: 'sandbox:1', tools: 'tools:1' },
  egress: { registries: [], environment: {} },
  workerClusterRole: 'agentfleet-worker',
};

/** One life of the operator: from its start to its crash. */
interface Operator {
  readonly controllers: readonly Controller[];
  readonly caches: Caches;
  readonly transport: Transport;
  readonly stop: () => Promise<void>;
}

/**
 * The controllers of tasks and orders on a fake API server, with a kubelet and workers that tests script. Time is
 * virtual for the controllers, and passes while a test waits.
 */
export class Bed {
  readonly clock: VirtualClock;
  readonly server: FakeApiServer;
  readonly transport: Transport;
  readonly tasks: ResourceClient<AgentTask>;
  readonly pods: ResourceClient<Pod>;
  readonly kubelet: Kubelet;
  readonly events: NewEvent[] = [];
  readonly invariants: Invariants;
  /** Names of workers whose Lease is renewed. */
  readonly beating = new Set<string>();
  /** Called between two steps of time: what workers do. */
  readonly actors: (() => Promise<void>)[] = [];
  readonly #watching = new AbortController();
  readonly #observed: Promise<unknown>;
  #operator: Operator | undefined;
  #beatAt = -Infinity;

  private constructor(server: FakeApiServer, clock: VirtualClock) {
    this.clock = clock;
    this.server = server;
    this.transport = createTransport(server.config, { userAgent: 'test/1' });
    this.tasks = new ResourceClient(this.transport, resources.agentTasks);
    this.pods = new ResourceClient(this.transport, resources.pods);
    this.kubelet = new Kubelet(server, this.pods);
    const caches = createCaches({ transport: this.transport, clock: systemClock, random: Math.random, log: silentLog });
    this.invariants = new Invariants(caches);
    this.#observed = Promise.all([caches.tasks.run(this.#watching.signal), caches.pods.run(this.#watching.signal)]);
  }

  /** A server with the pool platform/coding, the prepared namespace team and one ready worker. */
  static async start(pool: ExpertPool = newPool()): Promise<Bed> {
    // Objects of the server are as old as they are in the virtual time of the controllers.
    const time = new VirtualClock();
    const clock = { ...systemClock, now: (): number => time.now() };
    const bed = new Bed(await startFakeServer({ kinds, bookmarkMs: 20, clock }), time);
    for (const name of ['platform', 'team', 'other']) bed.server.createNamespace(name);
    await bed.createPool(pool);
    await bed.prepare(pool, ['team']);
    await bed.addWorker('w-1');
    await bed.startOperator();
    return bed;
  }

  async prepare(pool: ExpertPool, namespaces: readonly string[]): Promise<void> {
    const maps = new ResourceClient<ConfigMap>(this.transport, resources.configMaps);
    const ours = { [labels.component]: 'worker' };
    const brief = {
      metadata: { name: briefName(pool.metadata.name), namespace: 'platform', labels: ours },
      data: { [briefKey]: JSON.stringify({ namespaces }) },
    };
    await maps.apply(brief, { fieldManager: 'test' });
    for (const namespace of namespaces) {
      await maps.apply(
        { metadata: { name: jwksConfigMap, namespace, labels: ours }, data: { 'jwks.json': '{}' } },
        { fieldManager: 'test' },
      );
    }
  }

  async addWorker(name: string, pool = 'coding'): Promise<void> {
    const labelled = { [labels.component]: 'worker', [labels.pool]: pool };
    await this.pods.create({ metadata: { name, namespace: 'platform', labels: labelled }, spec: { nodeName: 'n1', containers: [] } });
    await this.pods.patch(
      { namespace: 'platform', name },
      { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } },
      { subresource: 'status' },
    );
    this.beating.add(name);
    await this.#beat();
  }

  async startOperator(): Promise<void> {
    const transport = createTransport(this.server.config, { userAgent: 'operator/1' });
    const caches = createCaches({ transport, clock: systemClock, random: Math.random, log: silentLog });
    const context = this.#context(transport, caches);
    const controllers = [
      createAgentTaskController(context, { pollMs: 5 }),
      createAgentTaskOrderController(context),
      createWarmPoolController(context, { pollMs: 5 }),
    ];
    const abort = new AbortController();
    const running = [...(Object.values(caches) as { run(signal: AbortSignal): Promise<void> }[]), ...controllers].map((part) =>
      part.run(abort.signal),
    );
    const ended = Promise.allSettled(running);
    const stop = async (): Promise<void> => {
      abort.abort();
      for (const controller of controllers) controller.kill();
      await ended;
      await transport.close();
    };
    this.#operator = { controllers, caches, transport, stop };
    await this.until('the caches are full', () => controllers.every((controller) => controller.hasSynced()));
  }

  #context(transport: Transport, caches: Caches): OperatorContext {
    return {
      config,
      transport,
      clock: this.clock,
      random: Math.random,
      log: silentLog,
      registry: new Registry(),
      events: { record: (_: KubeObject, event: NewEvent) => void this.events.push(event) },
      caches,
      tokens: { issuer: () => 'https://kubernetes.default.svc', jwks: () => '{}' },
    };
  }

  async stopOperator(): Promise<void> {
    await this.#operator?.stop();
    this.#operator = undefined;
  }

  /** Lets a quarter of a second pass for the controllers, and everybody act. */
  async step(): Promise<void> {
    await this.#beat();
    await this.kubelet.act();
    for (const actor of this.actors) await actor();
    await this.clock.advance(250);
    await settle();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }

  /** Steps until it holds; fails after `steps` with what was waited for and the tasks as they are. */
  async until(what: string, holds: () => boolean, steps = 4000): Promise<void> {
    for (let i = 0; i < steps; i += 1) {
      if (holds()) return;
      await this.step();
    }
    throw new Error(
      `never came true: ${what}\n${JSON.stringify(
        this.server.objects(resources.agentTasks).map(({ status }) => status),
        null,
        1,
      )}\nfaults: ${this.invariants.faults.join('\n')}`,
    );
  }

  /** Whether watches of a resource show nothing new. */
  frozen = false;

  freeze(frozen: boolean, resource = 'agenttasks.agentfleet.dev'): void {
    this.frozen = frozen;
    if (frozen) this.server.watches.freeze(resource);
    else this.server.watches.thaw(resource);
  }

  /** Lets virtual time pass. */
  async pass(seconds: number): Promise<void> {
    for (let i = 0; i < seconds * 4; i += 1) await this.step();
  }

  task(name: string): AgentTask {
    const found = this.server.objects(resources.agentTasks).find(({ metadata }) => metadata.name === name);
    if (found === undefined) throw new Error(`there is no task ${name}`);
    return found;
  }

  async create(task: AgentTask): Promise<void> {
    await this.tasks.create(task);
  }

  async patch(name: string, spec: object): Promise<void> {
    await this.tasks.patch({ namespace: 'team', name }, { spec });
  }

  async order(order: Pick<AgentTaskOrder, 'metadata' | 'spec'>): Promise<void> {
    await new ResourceClient<AgentTaskOrder>(this.transport, resources.agentTaskOrders).create(order as AgentTaskOrder);
  }

  async createPool(pool: ExpertPool): Promise<void> {
    await new ResourceClient<ExpertPool>(this.transport, resources.expertPools).create(pool);
  }

  orders(): readonly AgentTaskOrder[] {
    return this.server.objects(resources.agentTaskOrders);
  }

  taskNames(): readonly string[] {
    return this.server.objects(resources.agentTasks).map(({ metadata }) => metadata.name);
  }

  sandboxes(): readonly Pod[] {
    return this.server.objects(resources.pods).filter(({ metadata }) => metadata.labels?.[labels.component] === 'sandbox');
  }

  /** Sandboxes that wait for a task. */
  waiting(): readonly Pod[] {
    return this.sandboxes().filter(isUnclaimed);
  }

  /** Writes of the operator to the API server, Events left out. */
  get writes(): readonly SeenRequest[] {
    return this.server.writes.filter(({ userAgent }) => userAgent.startsWith('operator'));
  }

  async close(): Promise<void> {
    await this.stopOperator();
    this.#watching.abort();
    await this.#observed;
    await this.transport.close();
    await this.server.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #beat(): Promise<void> {
    const now = this.clock.monotonic();
    if (now - this.#beatAt < 5000 && this.#fresh.size === this.beating.size) return;
    this.#beatAt = now;
    const client = new ResourceClient<Lease>(this.transport, leases);
    for (const name of this.beating) {
      this.#fresh.add(name);
      const renewTime = new Date(this.clock.now()).toISOString().replace('Z', '000Z');
      const spec = { holderIdentity: name, leaseDurationSeconds: 20, renewTime };
      await client.apply(
        { metadata: { name, namespace: 'platform', labels: { [labels.component]: 'worker' } }, spec },
        { fieldManager: name },
      );
    }
  }

  readonly #fresh = new Set<string>();
}
