import { randomBytes } from 'node:crypto';
import { resources } from '@agentfleet/operator/resources';
import type { AgentTask, Condition } from '@agentfleet/protocol/api';
import type { ReplayFile } from '@agentfleet/protocol/inference';
import { afterAll, beforeAll, inject } from 'vitest';
import { openArtifacts, type Artifacts } from '../../hack/demo/fleet/artifacts.ts';
import { deleteNamespace, Kubectl } from '../../hack/sandbox/index.ts';
import { History } from './history.ts';
import type { Repository } from './repositories.ts';
import { Turns } from '../turns/turns.ts';

export type Pod = NonNullable<(typeof resources.pods)['shape']>;

/** Deadlines of waiting are those of an idle machine of four cores; a busy one of two may take this many times as long. */
const slowFactor = 4;

type PodSecurity = 'restricted' | 'privileged';

/** The environment of a test file: a namespace with a pool, and the record of all its events. */
export class Fleet {
  readonly kubectl: Kubectl;
  readonly namespace: string;
  readonly system: string;
  tasks!: History<AgentTask>;
  pods!: History<Pod>;
  artifacts!: Artifacts;

  constructor(kubectl: Kubectl, namespace: string, system: string) {
    this.kubectl = kubectl;
    this.namespace = namespace;
    this.system = system;
  }

  run(...args: readonly string[]): Promise<string> {
    return this.kubectl.text(['-n', this.namespace, ...args]);
  }

  async apply(
    kind: 'AgentTask' | 'AgentTaskOrder' | 'EnergyModel' | 'ExpertPool' | 'RolloutPolicy',
    name: string,
    spec: object,
  ): Promise<void> {
    const { namespace } = this;
    await this.kubectl.apply({ apiVersion: 'agentfleet.dev/v1alpha1', kind, metadata: { name, namespace }, spec });
  }

  /** Applies a task with an inline workspace; `spec` is merged over the usual one. */
  task(name: string, repository: Repository, spec: object = {}): Promise<void> {
    return this.apply('AgentTask', name, {
      poolRef: { name: 'pool' },
      goal: 'Make the failing tests pass.',
      workspace: { type: 'Inline', inline: { files: repository.files } },
      checks: [{ name: 'unit', command: ['python3', '-m', 'unittest', '-v'] }],
      attempts: { max: 1 },
      ...spec,
    });
  }

  /** The newest state of a task that was recorded. */
  state(name: string): AgentTask | undefined {
    return this.tasks.named(name).at(-1);
  }

  /** Waits until a recorded state satisfies the predicate; throws after `seconds` (on an idle machine, {@link slowFactor}). */
  async until(name: string, what: string, seconds: number, holds: (task: AgentTask) => boolean): Promise<AgentTask> {
    const deadline = Date.now() + slowFactor * seconds * 1000;
    for (;;) {
      const found = this.tasks.named(name).find(holds);
      if (found !== undefined) return found;
      if (Date.now() > deadline) throw new Error(`${name}: not within ${slowFactor} × ${seconds} s: ${what}\n${await this.explain(name)}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  finished(name: string, seconds = 120): Promise<AgentTask> {
    return this.until(name, 'finished', seconds, (task) => task.status?.finished === 'true');
  }

  /** Returns details for a person. */
  async explain(name: string): Promise<string> {
    const parts = [
      this.run('describe', 'agenttask', name),
      this.run('get', 'pods', '-o', 'wide'),
      this.kubectl.text(['-n', this.system, 'logs', '-l', 'app.kubernetes.io/name=agentfleet', '--tail=30']),
      this.run('logs', '-l', 'agentfleet.dev/component=worker', '--tail=40'),
    ];
    return (await Promise.all(parts.map((part) => part.catch((error: Error) => error.message)))).join('\n----\n');
  }
}

export function condition(task: AgentTask, type: string): Condition | undefined {
  return task.status?.conditions?.find((one) => one.type === type);
}

/** Live sandboxes of a task at the end of each recorded moment; more than one is a broken promise. */
function mostLiveSandboxes(fleet: Fleet, task: string): number {
  const live = new Set<string>();
  let most = 0;
  for (const { metadata, status } of fleet.pods.states) {
    if (metadata.labels?.['agentfleet.dev/task'] !== task) continue;
    const ended = metadata.deletionTimestamp !== undefined || status?.phase === 'Failed' || status?.phase === 'Succeeded';
    if (ended) live.delete(metadata.uid ?? '');
    else live.add(metadata.uid ?? '');
    most = Math.max(most, live.size);
  }
  return most;
}

/** Sentences about every promise that the recorded history of a task breaks. */
export function brokenPromises(fleet: Fleet, name: string): readonly string[] {
  const broken: string[] = [];
  const states = fleet.tasks.named(name);
  states.forEach((state, index) => {
    const before = states[index - 1]?.status;
    if ((state.status?.assignment?.epoch ?? 0) < (before?.assignment?.epoch ?? 0)) broken.push('the epoch went back');
    if (before?.finished === 'true' && state.status?.finished !== 'true') broken.push('a finished task began again');
  });
  if (mostLiveSandboxes(fleet, name) > 1) broken.push('two sandboxes lived at once');
  return broken;
}

/** An expert of a pool that proposes what {@link applyRecording} has made. */
export const recorded = {
  name: 'gen',
  role: 'Generalist',
  engine: { type: 'Replay', replay: { configMap: { name: 'recorded' } } },
} as const;

export async function applyRecording({ kubectl, namespace }: Fleet, recording: ReplayFile): Promise<void> {
  const metadata = { name: 'recorded', namespace };
  await kubectl.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'proposals.json': JSON.stringify(recording) } });
}

/** Experts of all roles, with the committed weights. */
export const allRoles = [
  { name: 'gen', role: 'Generalist', engine: { type: 'Synth' } },
  { name: 'hrm', role: 'Planner', engine: { type: 'Builtin' } },
  { name: 'embed', role: 'Embedder', engine: { type: 'Builtin' } },
  { name: 'tpc', role: 'Policy', engine: { type: 'Builtin' } },
] as const;

interface FleetOptions {
  /** Merged over the spec of the pool. */
  readonly pool?: object;
  /** Pod security level of the namespace; default: restricted. */
  readonly podSecurity?: PodSecurity;
  /** False: the pool has a volume instead of a bucket. */
  readonly storage?: boolean;
  /** True: the file kills shared parts (the operator, the API server), so that no other one runs meanwhile. */
  readonly alone?: boolean;
  /** Time for the pool to become ready; default: 90. */
  readonly readySeconds?: number;
  /** Makes the pool's dependencies, in its namespace. */
  readonly before?: (fleet: Fleet) => Promise<void>;
}

/** Registers a namespace with a pool for the calling test file; read the result inside tests only. */
export function useFleet(prefix: string, options: FleetOptions = {}): Fleet {
  const environment = inject('fleet');
  const kubectl = new Kubectl({
    kubeconfig: environment.kubeconfig,
    context: environment.context,
    bin: (name) => environment.bins[name] ?? name,
  });
  const fleet = new Fleet(kubectl, `aft-${prefix}-${randomBytes(3).toString('hex')}`, environment.system);
  const turns = new Turns(environment.run);
  let end = (): Promise<void> => Promise.resolve();
  beforeAll(async () => {
    // A set-up that failed is run again.
    await end();
    end = await (options.alone === true ? turns.alone() : turns.beside());
    await openNamespace(fleet, options.podSecurity ?? 'restricted');
    const where = { kubeconfig: environment.kubeconfig, context: environment.context, namespace: fleet.namespace };
    fleet.tasks = await History.of(resources.agentTasks, where);
    fleet.pods = await History.of(resources.pods, where);
    fleet.artifacts = await openArtifacts(kubectl, environment.storage);
    await options.before?.(fleet);
    await fleet.apply('ExpertPool', 'pool', {
      experts: [{ name: 'gen', role: 'Generalist', engine: { type: 'Synth' } }],
      ...(options.storage === false ? {} : storageOf()),
      ...options.pool,
    });
    await fleet.run('wait', '--for=condition=Ready', 'expertpool/pool', `--timeout=${slowFactor * (options.readySeconds ?? 90)}s`);
  });
  afterAll(async () => {
    try {
      await fleet.tasks.close();
      await fleet.pods.close();
      await fleet.artifacts.close();
      await deleteNamespace(kubectl, fleet.namespace);
    } finally {
      await end();
    }
  });
  return fleet;
}

async function openNamespace({ kubectl, namespace }: Fleet, podSecurity: PodSecurity): Promise<void> {
  const { storage } = inject('fleet');
  const labels = { 'pod-security.kubernetes.io/enforce': podSecurity, 'pod-security.kubernetes.io/enforce-version': 'latest' };
  await kubectl.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } });
  await kubectl.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'store', namespace },
    stringData: { key: `${storage.accessKey}:${storage.secretKey}` },
  });
}

/** The fields of a pool that send artifacts to the cluster's S3. */
export function storageOf(): { readonly storage: object; readonly credentials: readonly object[] } {
  const { storage } = inject('fleet');
  return {
    storage: { uri: storage.uri, endpoint: storage.endpoint, forcePathStyle: true, credential: 'store' },
    credentials: [{ name: 'store', secretRef: { name: 'store', key: 'key' }, hosts: [new URL(storage.endpoint).hostname] }],
  };
}
