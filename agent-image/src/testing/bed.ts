import { randomUUID } from 'node:crypto';
import { createTransport, defineResource, ResourceClient, silentLog, systemClock, type Clock } from '@agentfleet/kube';
import { startFakeServer, type FakeApiServer } from '@agentfleet/kube/testing';
import type { AgentTask, AgentTaskStatus, OpenSandbox, Run } from '@agentfleet/protocol/api';
import { briefKey, type PoolBrief } from '@agentfleet/protocol/pool';
import type { Outcome } from '../attempt/ports.ts';
import type { WorkerConfig } from '../base/config.ts';
import { MemoryStore } from '../durable/testing/memoryStore.ts';
import { resources } from '../base/resources.ts';
import { startWorker, type RunningWorker } from '../start.ts';
import { startFakeKeeper, type FakeKeeper } from './fakeKeeper.ts';
import { ScriptedEngine } from './scriptedEngine.ts';

export const workerConfig: WorkerConfig = {
  pod: { name: 'worker-0', namespace: 'platform', uid: 'worker-uid' },
  serviceAccount: 'coding-worker',
  brief: 'coding-workers',
  poolUid: 'pool-uid',
  concurrency: 4,
  port: 0,
  access: null,
  tokenFile: null,
  tracing: null,
  version: 'test',
  logLevel: 'silent',
};

export const brief: PoolBrief = {
  format: 'agentfleet.dev/pool/v1',
  pool: { name: 'coding', namespace: 'platform' },
  namespaces: ['team'],
  experts: [{ name: 'gen', role: 'Generalist', engine: 'Synth', domains: ['*'], url: 'http://127.0.0.1:1' }],
  absent: [],
  storage: { type: 'Volume', path: '/var/lib/agentfleet/artifacts', claim: 'coding-artifacts' },
  minIsolation: 'Seccomp',
  verifier: null,
  profiles: { default: { entropyFastNats: 2.5, margin: 1.5, riskThreshold: 0.6, kBase: 2, kMax: 8, earlyExitMargin: 1.5 } },
  egress: { registries: [], environment: {} },
  credentials: [],
  allowUnenforcedNetwork: false,
  maxBudget: {},
};

type Assignment = NonNullable<AgentTaskStatus['assignment']>;

const podResource = defineResource('v1', 'Pod', 'pods');

const asOperator = { subresource: 'status', fieldManager: 'agentfleet-operator' } as const;

const spec = {
  goal: 'Make the failing tests pass.',
  workspace: { type: 'ConfigMap', configMap: { name: 'files' } },
  checks: [{ name: 'unit', command: ['true'] }],
  policy: { profile: 'Default', network: { mode: 'Loopback' } },
  rollback: { whenFailed: 'RestoreInitial' },
  snapshots: { policy: 'RiskGated', checkpointSeconds: 120 },
  deadlineSeconds: 3600,
  retention: { sandboxSeconds: 0, snapshotsSeconds: 604_800 },
  cancel: 'None',
};

/** A worker on a fake API server, with a fake keeper and a scripted engine. Acts as the operator would. */
export class WorkerBed implements AsyncDisposable {
  readonly server: FakeApiServer;
  readonly keeper: FakeKeeper;
  readonly store = new MemoryStore();
  engine = new ScriptedEngine();
  worker: RunningWorker | undefined;
  readonly tasks: ResourceClient<AgentTask>;
  /** Uid of the worker's own pod. */
  podUid = '';
  readonly #sandboxes = new Map<string, OpenSandbox>();
  readonly #admin: ReturnType<typeof createTransport>;
  readonly #clock: Clock;

  private constructor(server: FakeApiServer, keeper: FakeKeeper, clock: Clock) {
    this.server = server;
    this.keeper = keeper;
    this.#clock = clock;
    this.#admin = createTransport(server.config, { userAgent: 'operator/test' });
    this.tasks = new ResourceClient(this.#admin, resources.agentTasks);
  }

  static async open(clock: Clock = systemClock): Promise<WorkerBed> {
    const token = (_: object, body: { readonly spec?: unknown }): Record<string, unknown> => {
      const audience = (body.spec as { audiences: string[] }).audiences[0] ?? '';
      return { status: { token: `token-for-${audience}`, expirationTimestamp: new Date(Date.now() + 3_600_000).toISOString() } };
    };
    const selectableFields = ['status.assignment.worker', 'status.finished', 'spec.poolRef.name'];
    const server = await startFakeServer({
      kinds: [
        { resource: resources.agentTasks, statusSubresource: true, generation: true, selectableFields },
        { resource: resources.serviceAccounts, subresources: { token } },
      ],
    });
    for (const namespace of ['platform', 'team']) server.createNamespace(namespace);
    const bed = new WorkerBed(server, await startFakeKeeper(), clock);
    await bed.#prepare();
    return bed;
  }

  async start(config: Partial<WorkerConfig> = {}): Promise<void> {
    this.worker = await startWorker({
      config: { ...workerConfig, pod: { ...workerConfig.pod, uid: this.podUid }, ...config },
      cluster: this.server.config,
      engine: this.engine,
      openStore: () => this.store,
      clock: this.#clock,
      random: () => 0.5,
      log: silentLog,
      keeperPort: this.keeper.port,
    });
  }

  /** Creates a ready sandbox pod: the operator writes its address into the task. */
  async sandbox(name: string): Promise<OpenSandbox> {
    const open = { uid: randomUUID(), address: '127.0.0.1' };
    this.#sandboxes.set(name, open);
    await this.#tell(name);
    return open;
  }

  async deletePod(name: string): Promise<void> {
    this.#sandboxes.delete(name);
    await this.#tell(name);
  }

  /** Writes the state of a sandbox into its tasks. */
  async #tell(sandbox: string): Promise<void> {
    const open = this.#sandboxes.get(sandbox) ?? null;
    for (const { metadata, status } of this.server.objects(resources.agentTasks))
      if (status?.assignment?.sandbox === sandbox) await this.tasks.patch(metadata, { status: { sandbox: open } }, asOperator);
  }

  async task(name: string, assignment: Partial<Assignment> = {}, more: Readonly<Record<string, unknown>> = {}): Promise<AgentTask> {
    await this.tasks.create({ metadata: { name, namespace: 'team' }, spec: { ...spec, ...more } } as unknown as AgentTask);
    return this.assign(name, assignment);
  }

  /** Writes the assignment, like the operator; omitted fields are those of a first attempt. */
  assign(name: string, assignment: Partial<Assignment>): Promise<AgentTask> {
    const first = {
      attempt: 1,
      epoch: 1,
      worker: 'worker-0',
      workerNamespace: 'platform',
      sandbox: `${name}-1`,
      warm: false,
      directive: 'Run',
    };
    const since = '2030-01-01T00:00:00Z';
    const whole = { ...first, since, ...assignment };
    const patch = { status: { finished: 'false', assignment: whole, sandbox: this.#sandboxes.get(whole.sandbox) ?? null } };
    return this.tasks.patch({ name, namespace: 'team' }, patch, asOperator);
  }

  /** Writes a report as an earlier worker would have. */
  async report(name: string, run: NonNullable<AgentTask['status']>['run']): Promise<void> {
    await this.tasks.patch({ name, namespace: 'team' }, { status: { run } }, { subresource: 'status', fieldManager: 'agentfleet-worker' });
  }

  status(name: string): NonNullable<AgentTask['status']> {
    const task = this.server.objects(resources.agentTasks).find(({ metadata }) => metadata.name === name);
    return task?.status ?? {};
  }

  /** Reports that reached the API server, in order, also those that it refused. */
  reports(name: string): readonly NonNullable<NonNullable<AgentTask['status']>['run']>[] {
    const writes = this.server.requests.filter(
      ({ verb, subresource, name: of }) => verb === 'apply' && subresource === 'status' && of === name,
    );
    return writes.map(({ body }) => (body as { status: { run: NonNullable<NonNullable<AgentTask['status']>['run']> } }).status.run);
  }

  async writeBrief(text: string): Promise<void> {
    const maps = new ResourceClient(this.#admin, resources.configMaps);
    await maps.patch({ name: workerConfig.brief, namespace: 'platform' }, { data: { [briefKey]: text } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.onRequest = undefined;
    await this.worker?.stop();
    await this.#admin.close();
    await this.keeper[Symbol.asyncDispose]();
    await this.server.close();
  }

  async #prepare(): Promise<void> {
    const accounts = new ResourceClient(this.#admin, resources.serviceAccounts);
    await accounts.create({ metadata: { name: workerConfig.serviceAccount, namespace: 'platform' } });
    const pods = new ResourceClient(this.#admin, podResource);
    const { name, namespace } = workerConfig.pod;
    this.podUid = (await pods.create({ metadata: { name, namespace } })).metadata.uid ?? '';
    const maps = new ResourceClient(this.#admin, resources.configMaps);
    await maps.create({ metadata: { name: workerConfig.brief, namespace: 'platform' }, data: { [briefKey]: JSON.stringify(brief) } });
  }
}

/** Waits until a condition holds; rejects after twenty seconds with its name. */
export async function eventually(what: string, holds: () => boolean): Promise<void> {
  for (let i = 0; i < 2000; i += 1) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`never came true: ${what}`);
}

export const succeeded: Outcome = { result: 'Succeeded', reason: 'ChecksPassed', message: 'all checks hold' };

/** A bed whose worker runs one task up to the engine. */
export async function running(name = 'fix', clock?: Clock): Promise<WorkerBed> {
  const bed = await WorkerBed.open(clock);
  await bed.start();
  await bed.sandbox(`${name}-1`);
  await bed.task(name);
  await eventually('the engine runs', () => bed.engine.calls.length === 1);
  return bed;
}

/** Outcomes that were sent, in order. */
export function outcomes(bed: WorkerBed, name = 'fix'): readonly NonNullable<Run['outcome']>[] {
  return bed.reports(name).flatMap(({ outcome }) => (outcome === undefined ? [] : [outcome]));
}
