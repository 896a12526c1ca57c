import {
  createTransport,
  leases,
  ResourceClient,
  silentLog,
  systemClock,
  type KubeObject,
  type Lease,
  type Transport,
} from '@agentfleet/kube';
import { startFakeServer, type FakeApiServer, type KindDefinition, type SeenRequest } from '@agentfleet/kube/testing';
import type { AgentTask, EnergyModel, ExpertPool } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { Registry } from 'prom-client';
import type { ProcessConfig } from '../../../config.ts';
import type { AskMetrics } from '../../../revisions/index.ts';
import { type Deployment, type PersistentVolumeClaim, type Pod, resources } from '../../../runtime/resources.ts';
import type { AskInfo } from '../../../serving/index.ts';
import { createOperator, type Operator } from '../../../start.ts';

const kinds: readonly KindDefinition[] = [
  {
    resource: resources.agentTasks,
    statusSubresource: true,
    generation: true,
    selectableFields: ['status.assignment.worker', 'status.finished'],
  },
  { resource: resources.agentTaskOrders, statusSubresource: true, generation: true },
  { resource: resources.expertPools, statusSubresource: true, generation: true },
  { resource: resources.energyModels, statusSubresource: true, generation: true },
  { resource: resources.poolGrants, generation: true },
  { resource: resources.expertScales, generation: true },
  { resource: resources.rolloutPolicies, generation: true },
  { resource: resources.roles },
  { resource: resources.roleBindings },
  { resource: resources.controllerRevisions },
  { resource: resources.deviceClasses },
  { resource: resources.resourceClaims },
  { resource: resources.resourceSlices, selectableFields: ['spec.driver'] },
  { resource: resources.podTemplates },
  { resource: resources.jobs, statusSubresource: true, generation: true },
  { resource: resources.podDisruptionBudgets, statusSubresource: true, generation: true },
];

/** Configuration of the process of the tests; port 0: a free one. */
export const testConfig: ProcessConfig = {
  namespace: 'agentfleet-system',
  podName: 'operator-0',
  version: '0.0.0-test',
  images: { agent: 'agent:1', inference: 'inference:1', sandbox: 'sandbox:1', tools: 'tools:1' },
  egress: { registries: [], environment: {} },
  platformNamespaces: ['platform'],
  workerClusterRole: 'agentfleet-worker',
  logLevel: 'silent',
  probesPort: 0,
  metricsPort: 0,
  authentication: 'None',
  leaderElection: true,
  election: { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2000 },
  kubeconfig: undefined,
};

/** The API server's answer about its tokens; the fake one knows no such paths. */
export interface Discovery {
  issuer: unknown;
  /** Error of each question; absent: they are answered. */
  fault?: Error | undefined;
  keys: readonly object[];
}

function withDiscovery(transport: Transport, discovery: Discovery): Transport {
  return {
    host: transport.host,
    request: <T>(request: Parameters<Transport['request']>[0]) => {
      if (discovery.fault !== undefined && request.path.includes('openid')) return Promise.reject(discovery.fault);
      if (request.path === '/.well-known/openid-configuration') return Promise.resolve({ issuer: discovery.issuer } as T);
      if (request.path === '/openid/v1/jwks') return Promise.resolve({ keys: discovery.keys } as T);
      return transport.request<T>(request);
    },
    stream: (request) => transport.stream(request),
    close: () => transport.close(),
  };
}

/** The whole operator on a fake API server; the other controllers of a cluster are played by the test. */
export class Bed {
  readonly server: FakeApiServer;
  readonly transport: Transport;
  readonly discovery: Discovery = { issuer: 'https://kubernetes.default.svc', keys: [{ kid: 'a' }] };
  operator: Operator | undefined;
  /** Returns the answer of servers to `/v1/info`; rejects when they do not answer. */
  ask: AskInfo = () => Promise.reject(new Error('nobody answers'));
  /** Returns the answer of servers to `/metrics`. */
  askMetrics: AskMetrics = () => Promise.reject(new Error('nobody answers'));
  #transport: Transport | undefined;
  #abort = new AbortController();
  #running: Promise<void> = Promise.resolve();

  private constructor(server: FakeApiServer) {
    this.server = server;
    this.transport = createTransport(server.config, { userAgent: 'test/1' });
  }

  /** A server with the namespaces of the operator, of the pools and of tasks; nothing runs yet. */
  static async start(): Promise<Bed> {
    const bed = new Bed(await startFakeServer({ kinds, bookmarkMs: 20 }));
    for (const name of ['agentfleet-system', 'platform', 'team']) bed.server.createNamespace(name);
    return bed;
  }

  /** Starts an operator of its own identity. */
  startOperator(identity = 'operator-0_1', config: ProcessConfig = testConfig): Promise<void> {
    this.#abort = new AbortController();
    this.#transport = createTransport(this.server.config, { userAgent: 'operator/1' });
    this.operator = createOperator({
      config,
      transport: withDiscovery(this.#transport, this.discovery),
      identity,
      clock: systemClock,
      random: Math.random,
      log: silentLog,
      registry: new Registry(),
      host: '127.0.0.1',
      ask: (origin, signal, namespace) => this.ask(origin, signal, namespace),
      askMetrics: (origin, signal, namespace) => this.askMetrics(origin, signal, namespace),
    });
    this.#running = this.operator.run(this.#abort.signal);
    this.#running.catch(() => {});
    return this.#running;
  }

  /** Stops it as SIGTERM does; rejects when it failed. */
  async stopOperator(): Promise<void> {
    this.#abort.abort();
    try {
      await this.#running;
    } finally {
      await this.#transport?.close();
    }
  }

  async create<T extends KubeObject>(resource: Parameters<typeof resourceClient<T>>[1], object: T): Promise<void> {
    await resourceClient(this.transport, resource).create(object);
  }

  pool(name = 'coding'): ExpertPool {
    const found = this.server.objects(resources.expertPools).find(({ metadata }) => metadata.name === name);
    if (found === undefined) throw new Error(`there is no pool ${name}`);
    return found;
  }

  model(name = 'judge'): EnergyModel {
    const found = this.server.objects(resources.energyModels).find(({ metadata }) => metadata.name === name);
    if (found === undefined) throw new Error(`there is no model ${name}`);
    return found;
  }

  task(name: string): AgentTask | undefined {
    return this.server.objects(resources.agentTasks).find(({ metadata }) => metadata.name === name);
  }

  async patchPool(spec: object, name = 'coding'): Promise<void> {
    await resourceClient(this.transport, resources.expertPools).patch({ namespace: 'platform', name }, { spec });
  }

  /** Writes the status that the Deployment controller would write. */
  async rollOut(name: string, ready: number): Promise<void> {
    const deployments = resourceClient<Deployment>(this.transport, resources.deployments);
    const { metadata } = await deployments.get({ namespace: 'platform', name });
    const status = { observedGeneration: metadata.generation, replicas: ready, updatedReplicas: ready, readyReplicas: ready };
    await deployments.patch(metadata, { status }, { subresource: 'status' });
  }

  async bindClaim(name: string): Promise<void> {
    const claims = resourceClient<PersistentVolumeClaim>(this.transport, resources.persistentVolumeClaims);
    await claims.patch({ namespace: 'platform', name }, { status: { phase: 'Bound' } }, { subresource: 'status' });
  }

  /** A pod that answers, with these labels. */
  async addServer(name: string, own: Readonly<Record<string, string>>, podIP: string): Promise<void> {
    const pods = resourceClient<Pod>(this.transport, resources.pods);
    const containers = [{ name: 'inference', image: testConfig.images.inference }];
    await pods.create({ metadata: { name, namespace: 'platform', labels: own }, spec: { nodeName: 'n1', containers } });
    const status = { phase: 'Running', podIP, conditions: [{ type: 'Ready', status: 'True' }] };
    await pods.patch({ namespace: 'platform', name }, { status }, { subresource: 'status' });
  }

  /** A worker that answers and renews its Lease. */
  async addWorker(name: string, pool = 'coding'): Promise<void> {
    const own = { [labels.component]: 'worker', [labels.pool]: pool };
    const pods = resourceClient<Pod>(this.transport, resources.pods);
    const containers = [{ name: 'worker', image: testConfig.images.agent }];
    await pods.create({
      metadata: { name, namespace: 'platform', labels: own },
      spec: { nodeName: 'n1', serviceAccountName: `${pool}-worker`, containers },
    });
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    await pods.patch({ namespace: 'platform', name }, { status }, { subresource: 'status' });
    const renewTime = new Date(systemClock.now()).toISOString().replace('Z', '000Z');
    const spec = { holderIdentity: name, leaseDurationSeconds: 20, renewTime };
    await resourceClient<Lease>(this.transport, leases).create({ metadata: { name, namespace: 'platform', labels: own }, spec });
  }

  /** Writes of the operator apart from Events and its own Lease. */
  get writes(): readonly SeenRequest[] {
    return this.server.writes.filter(
      ({ userAgent, resource }) => userAgent.startsWith('operator') && !resource.startsWith('events') && !resource.startsWith('leases'),
    );
  }

  /** Waits until it holds, or does not throw any more; at most ten seconds, or as many as are said. */
  async until(what: string, holds: () => boolean, seconds = 10): Promise<void> {
    for (let i = 0; i < 100 * seconds; i += 1) {
      if (holds()) return;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const status = this.server.objects(resources.expertPools).map((pool) => pool.status);
    throw new Error(`never came true: ${what}\n${JSON.stringify(status, undefined, 1)}`);
  }

  /** Waits until the operator has nothing to write for a while: three bookmarks of its caches. */
  async quiet(): Promise<void> {
    for (let [count, calm] = [-1, 0]; calm < 6;) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      calm = this.writes.length === count ? calm + 1 : 0;
      count = this.writes.length;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopOperator().catch(() => {});
    await this.transport.close();
    await this.server.close();
  }
}

function resourceClient<T extends KubeObject>(transport: Transport, resource: ConstructorParameters<typeof ResourceClient<T>>[1]) {
  return new ResourceClient<T>(transport, resource);
}
