import type { Latency, ModelFault, NamedPolicy, PlanOf } from '../../revisions/index.ts';
import type { PoolArm, RecordedArm } from '../../operands/index.ts';
import type { EnergyModel, ExpertPool, Reason } from '@agentfleet/protocol/api';
import type { MissingGrant } from '../../pools/consent.ts';
import type { EgressBrief } from '@agentfleet/protocol/pool';
import type { Images } from '../../runtime/context.ts';
import { TtlCache } from '../../runtime/index.ts';
import { type Deployment, type PersistentVolumeClaim, type Pod, type ConfigMap, resources } from '../../runtime/resources.ts';
import type { OperandSettings } from '../../runtime/settings.ts';
import type { TaskGroup, TaskTraits } from '../../runtime/taskCensus.ts';
import type { ClusterAccess, ServerInfo } from '../../serving/index.ts';
import type { Child } from './children.ts';
import type { WorkerReach } from './manifests/walls.ts';
import type { WeightsView } from './manifests/weights.ts';
import { contentHash, ResourceClient, type Clock, type Transport } from '@agentfleet/kube';
import { homeOf } from '../../operands/manifest.ts';

/** Numbers of tasks of a pool. */
interface TaskCounts {
  readonly running: number;
  readonly queued: number;
}

/** In a snapshot that has one, the pool's experts and images are those of `serving`. */
export interface RolloutPlan extends PlanOf<PoolArm> {
  readonly serving: PoolArm;
  /** Experts that are still served by pods from before there were revisions. */
  readonly plain: ReadonlySet<string>;
}

/** Facts about a pool or a model, as the caches showed them at one moment. */
export interface SnapshotOf<Recorded> {
  /** Namespace of the operator, which servers hear. */
  readonly operatorNamespace: string;
  /** Data that servers check tokens by. */
  readonly access: ClusterAccess;
  /** Of the Prometheus that servers let in. */
  readonly prometheusNamespace?: string | undefined;
  /** Everything in the namespace of the owner that has its label or a name that it wants. */
  readonly children: readonly Child[];
  readonly pods: readonly Pod[];
  /** Events of the kubelet about pods that it prepares, by their names. */
  readonly notes: ReadonlyMap<string, string>;
  /** Revisions on record by their names. */
  readonly recorded?: ReadonlyMap<string, Recorded>;
  /** The policy that spec.rolloutPolicyRef names; undefined: pods are replaced at once. */
  readonly policy?: NamedPolicy | undefined;
}

/** All that decisions about a pool are made from. */
export interface PoolSnapshot extends SnapshotOf<RecordedArm> {
  readonly pool: ExpertPool;
  readonly images: Images;
  readonly egress: EgressBrief;
  /** Destinations in the network that workers need besides those that the pool names. */
  readonly reach: Omit<WorkerReach, 'egress'>;
  /** Settings of the administrator for all operands; default: nothing. */
  readonly settings?: OperandSettings | undefined;
  /** The EnergyModel that the pool names; undefined when it names none, and when there is none of that name. */
  readonly energyModel: EnergyModel | undefined;
  /** Namespaces whose tasks the workers may read already, sorted. */
  readonly namespaces: readonly string[];
  /** Grants without which sandboxes do not wait where the pool asks for them. */
  readonly missingGrants?: readonly MissingGrant[];
  readonly counts: TaskCounts;
  /** Recordings by the names of their ConfigMaps. */
  readonly replays: ReadonlyMap<string, Replay>;
  readonly deployments: ReadonlyMap<string, Deployment>;
  readonly claim: PersistentVolumeClaim | undefined;
  /** Sandboxes that were made ahead, in any namespace; also those that tasks have taken. */
  readonly madeAhead: readonly Pod[];
  /** Pods whose Lease is fresh. */
  readonly alive: ReadonlySet<string>;
  /** Report of the newest ready pod of each expert on itself, by the names of the pods. */
  readonly infos: ReadonlyMap<string, ServerInfo>;
  /** Time that experts took to answer, by their names; undefined: they are not measured. */
  readonly latencies?: ReadonlyMap<string, Latency>;
  /** Faults by which the newest requests to models behind gateways failed, by revisions of the gateways, then by experts; null: by none. */
  readonly modelFaults?: ReadonlyMap<string | undefined, ReadonlyMap<string, ModelFault | null>>;
  /** Facts that are known about weights, those of the spec first. */
  readonly weights?: readonly WeightsView[];
  /** The policy that the model names. */
  readonly judgePolicy?: NamedPolicy | undefined;
  /** Undefined: the pool has no rollout. */
  readonly rollout?: RolloutPlan;
}

const runningPhases: ReadonlySet<string> = new Set(['Preparing', 'Running', 'Verifying', 'RollingBack', 'AwaitingApproval']);

/** Returns the count that a task belongs to; suspended, finished and refused ones count nowhere, and those that nothing was decided about. */
export function countedAs({ finished, phase }: Pick<TaskTraits, 'finished' | 'phase'>): keyof TaskCounts | undefined {
  if (finished) return undefined;
  if (runningPhases.has(phase)) return 'running';
  return phase === 'Queued' ? 'queued' : undefined;
}

/** Counts the tasks of a pool. */
export function countTasks(groups: readonly TaskGroup[]): TaskCounts {
  let [running, queued] = [0, 0];
  for (const group of groups) {
    const as = countedAs(group);
    if (as === 'running') running += group.count;
    else if (as === 'queued') queued += group.count;
  }
  return { running, queued };
}

/** A recording: the hash of what its pods read, or why they cannot read it. */
export type Replay = { readonly hash: string } | { readonly hash?: undefined; readonly reason: Reason; readonly message: string };

/** Time for which an answer counts as current, ms: a recording that is missing is awaited, one that is there seldom changes. */
export const replayPollMs = { missing: 5_000, present: 30_000 } as const;

/** Returns the recording that the pods of an expert would find in this ConfigMap. Pure. */
function replayOf(name: string, configMap: ConfigMap | undefined): Replay {
  if (configMap === undefined) {
    const message = `there is no ConfigMap ${name} in the namespace of the pool; create it with the recording`;
    return { reason: 'ReplayNotFound', message };
  }
  const files = Object.entries(configMap.data ?? {}).filter(([file]) => file.endsWith('.json'));
  if (files.length === 0) {
    return { reason: 'ReplayEmpty', message: `ConfigMap ${name} has no key that ends in .json; put the recording there` };
  }
  return { hash: contentHash(Object.fromEntries(files)) };
}

/**
 * Reader of recordings. They are ConfigMaps of users without a label of the operator, so no cache holds them: they are
 * requested, and the answer counts as current for a while.
 */
export class ReplayReader {
  readonly #client: ResourceClient<ConfigMap>;
  readonly #known: TtlCache<Replay>;

  constructor(transport: Transport, clock: Clock) {
    this.#client = new ResourceClient(transport, resources.configMaps);
    this.#known = new TtlCache(clock, ({ hash }) => (hash === undefined ? replayPollMs.missing : replayPollMs.present));
  }

  /** The recordings that a pool names, by the names of their ConfigMaps. */
  async read(pool: ExpertPool, signal: AbortSignal): Promise<ReadonlyMap<string, Replay>> {
    const namespace = homeOf(pool);
    const found = new Map<string, Replay>();
    for (const { engine } of pool.spec.experts) {
      if (engine.type !== 'Replay') continue;
      const { name } = engine.replay.configMap;
      const ask = async (): Promise<Replay> => replayOf(name, await this.#client.find({ namespace, name }, { signal }));
      found.set(name, await this.#known.of(`${namespace}/${name}`, ask));
    }
    return found;
  }
}
