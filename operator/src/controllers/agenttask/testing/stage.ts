import { leases, ResourceClient, type Lease, type Transport } from '@agentfleet/kube';
import type { FakeApiServer, KindDefinition, SeenRequest, VirtualClock } from '@agentfleet/kube/testing';
import type { AgentTask, AgentTaskOrder, ExpertPool } from '@agentfleet/protocol/api';
import { briefKey, labels } from '@agentfleet/protocol/pool';
import { briefName, workerServiceAccount } from '../../../pools/names.ts';
import { isUnclaimed } from '../../../pools/resolve.ts';
import { type ConfigMap, type Pod, resources } from '../../../runtime/resources.ts';
import { jwksConfigMap } from '../sandbox/pod.ts';
import { Kubelet } from './kubelet.ts';

const ours = { statusSubresource: true, generation: true } as const;

/** Kinds that an API server knows besides its own. */
export const kinds: readonly KindDefinition[] = [
  { resource: resources.agentTasks, ...ours, selectableFields: ['status.assignment.worker', 'status.finished'] },
  { resource: resources.agentTaskOrders, ...ours },
  { resource: resources.expertPools, ...ours },
  { resource: resources.energyModels, ...ours },
  { resource: resources.poolGrants, generation: true },
  { resource: resources.expertScales, generation: true },
  { resource: resources.rolloutPolicies, generation: true },
  { resource: resources.runtimeClasses },
  { resource: resources.networkPolicies },
  { resource: resources.storageClasses },
  { resource: resources.volumeSnapshots, statusSubresource: true },
  { resource: resources.volumeSnapshotClasses },
];

/** Configuration where tests play the cluster. */
export const config = {
  namespace: 'agentfleet-system',
  images: { agent: 'agent:1', inference: 'inference:1', sandbox: 'sandbox:1', tools: 'tools:1' },
  egress: { registries: [], environment: {} },
  platformNamespaces: ['platform'],
  workerClusterRole: 'agentfleet-worker',
};

/** A cluster without an operator: the server, and everybody else who acts on it. */
export class Stage {
  readonly clock: VirtualClock;
  readonly server: FakeApiServer;
  readonly transport: Transport;
  readonly tasks: ResourceClient<AgentTask>;
  readonly pods: ResourceClient<Pod>;
  readonly kubelet: Kubelet;
  /** Names of workers whose Lease is renewed. */
  readonly beating = new Set<string>();
  /** Called between two steps of time: what workers do. */
  readonly actors: (() => Promise<void>)[] = [];
  readonly #fresh = new Set<string>();
  #beatAt = -Infinity;

  constructor(server: FakeApiServer, clock: VirtualClock, transport: Transport) {
    this.server = server;
    this.clock = clock;
    this.transport = transport;
    this.tasks = new ResourceClient(transport, resources.agentTasks);
    this.pods = new ResourceClient(transport, resources.pods);
    this.kubelet = new Kubelet(server, this.pods);
  }

  /** Plays the controller of pools: what they and the namespaces that they serve need is there. */
  async prepare(pool: ExpertPool, namespaces: readonly string[]): Promise<void> {
    const holds = { status: 'True', reason: 'Played', message: '', lastTransitionTime: '2030-01-01T00:00:00Z' };
    const conditions = ['Accepted', 'Ready'].map((type) => ({ type, ...holds }));
    const pools = new ResourceClient<ExpertPool>(this.transport, resources.expertPools);
    await pools.patch(pool.metadata, { status: { conditions } }, { subresource: 'status' });
    const maps = new ResourceClient<ConfigMap>(this.transport, resources.configMaps);
    const own = { [labels.component]: 'worker' };
    const brief = {
      metadata: { name: briefName(pool.metadata.name), namespace: 'platform', labels: own },
      data: { [briefKey]: JSON.stringify({ namespaces }) },
    };
    await maps.apply(brief, { fieldManager: 'test' });
    for (const namespace of namespaces) {
      await maps.apply(
        { metadata: { name: jwksConfigMap, namespace, labels: own }, data: { 'jwks.json': '{}' } },
        { fieldManager: 'test' },
      );
    }
  }

  async addWorker(name: string, pool = 'coding'): Promise<void> {
    const labelled = { [labels.component]: 'worker', [labels.pool]: pool };
    await this.pods.create({
      metadata: { name, namespace: 'platform', labels: labelled },
      spec: { nodeName: 'n1', serviceAccountName: workerServiceAccount(pool), containers: [] },
    });
    await this.pods.patch(
      { namespace: 'platform', name },
      { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } },
      { subresource: 'status' },
    );
    this.beating.add(name);
    await this.beat();
  }

  /** Renews the Leases of workers when it is time. */
  async beat(): Promise<void> {
    const now = this.clock.monotonic();
    const known = [...this.beating].every((name) => this.#fresh.has(name));
    if (now - this.#beatAt < 5000 && known) return;
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

  task(name: string): AgentTask {
    const found = this.server.objects(resources.agentTasks).find(({ metadata }) => metadata.name === name);
    if (found === undefined) throw new Error(`there is no task ${name}`);
    return found;
  }

  async create(task: AgentTask): Promise<void> {
    await this.tasks.create(task);
  }

  async patch(name: string, spec: object, namespace = 'team'): Promise<void> {
    await this.tasks.patch({ namespace, name }, { spec });
  }

  async order(order: Pick<AgentTaskOrder, 'metadata' | 'spec'>): Promise<void> {
    await new ResourceClient<AgentTaskOrder>(this.transport, resources.agentTaskOrders).create(order as AgentTaskOrder);
  }

  async createPool(pool: ExpertPool): Promise<void> {
    await new ResourceClient<ExpertPool>(this.transport, resources.expertPools).create(pool);
  }

  async patchPool(name: string, spec: object): Promise<void> {
    await new ResourceClient<ExpertPool>(this.transport, resources.expertPools).patch({ namespace: 'platform', name }, { spec });
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
}
