import type { PoolArm, RecordedArm } from '../../operands/index.ts';
import type { EnergyModel, ExpertPool, RolloutStatus } from '@agentfleet/protocol/api';
import type { MissingGrant } from '../../pools/consent.ts';
import type { EgressBrief } from '@agentfleet/protocol/pool';
import type { NamedPolicy, ShadowView } from '../../revisions/index.ts';
import type { Images } from '../../runtime/context.ts';
import type { Deployment, PersistentVolumeClaim, Pod } from '../../runtime/resources.ts';
import type { TaskGroup, TaskTraits } from '../../runtime/taskCensus.ts';
import type { ClusterAccess, ServerInfo } from '../../serving/index.ts';
import type { Child } from './children.ts';
import type { WorkerReach } from './manifests/workersEgress.ts';
import type { Replay } from './replay.ts';
import type { WeightsView } from './weights/index.ts';

/** How many tasks a pool has. */
export interface TaskCounts {
  readonly running: number;
  readonly queued: number;
}

/** What a rollout makes of a pool: in a snapshot that has one, the pool's experts and images are those of `serving`. */
export interface RolloutPlan {
  /** Undefined: the pool has no rollout any more, and what is left of the last one ends. */
  readonly status: RolloutStatus | undefined;
  readonly serving: PoolArm;
  /** Experts that are still served by pods from before there were revisions. */
  readonly plain: ReadonlySet<string>;
  /** All revisions that have pods. */
  readonly arms: readonly PoolArm[];
  /** The revision that is to be put on record; undefined when it is. */
  readonly record: RecordedArm | undefined;
  /** Children that stay although nobody asks for them, as `group/plural/name`. */
  readonly keep: readonly string[];
  /** Ms after which time alone may change it. */
  readonly againMs: number;
  /** What became of copies; undefined: nothing is in shadow. */
  readonly shadow?: ShadowView | undefined;
}

/** All that decisions about a pool are made from, as the caches showed it at one moment. */
export interface PoolSnapshot {
  readonly pool: ExpertPool;
  readonly images: Images;
  readonly egress: EgressBrief;
  /** Namespace of the operator, which experts hear. */
  readonly operatorNamespace: string;
  /** What servers check tokens by. */
  readonly access: ClusterAccess;
  /** What of the network workers need beside what the pool names. */
  readonly reach: Omit<WorkerReach, 'egress'>;
  /** Of the Prometheus that servers let in. */
  readonly prometheusNamespace?: string | undefined;
  /** The EnergyModel that the pool names; undefined when it names none, and when there is none of that name. */
  readonly energyModel: EnergyModel | undefined;
  /** Namespaces whose tasks the workers may read already, sorted. */
  readonly namespaces: readonly string[];
  /** Grants without which sandboxes do not wait where the pool asks for them. */
  readonly missingGrants?: readonly MissingGrant[];
  readonly counts: TaskCounts;
  /** Recordings by the names of their ConfigMaps. */
  readonly replays: ReadonlyMap<string, Replay>;
  /** Everything in the namespace of the pool with its label. */
  readonly children: readonly Child[];
  readonly deployments: ReadonlyMap<string, Deployment>;
  readonly claim: PersistentVolumeClaim | undefined;
  readonly pods: readonly Pod[];
  /** Sandboxes that were made ahead, in any namespace; also those that tasks have taken. */
  readonly madeAhead: readonly Pod[];
  /** Pods whose Lease is fresh. */
  readonly alive: ReadonlySet<string>;
  /** What the kubelet says about pods that it prepares, by their names. */
  readonly notes: ReadonlyMap<string, string>;
  /** What the newest ready pod of each expert tells of itself, by the names of the pods. */
  readonly infos: ReadonlyMap<string, ServerInfo>;
  /** What is known of weights, those of the spec first. */
  readonly weights?: readonly WeightsView[];
  /** Revisions on record by their names. */
  readonly recorded?: ReadonlyMap<string, RecordedArm>;
  /** What spec.rolloutPolicyRef names; undefined: pods are replaced at once. */
  readonly policy?: NamedPolicy | undefined;
  /** The same of the model. */
  readonly judgePolicy?: NamedPolicy | undefined;
  /** Undefined: the pool has no rollout. */
  readonly rollout?: RolloutPlan;
}

const runningPhases: ReadonlySet<string> = new Set(['Preparing', 'Running', 'Verifying', 'RollingBack', 'AwaitingApproval']);
const queuedPhases: ReadonlySet<string> = new Set(['Pending', 'Queued']);

/** Where tasks count; suspended and finished ones count nowhere. */
export function countedAs({ finished, phase }: Pick<TaskTraits, 'finished' | 'phase'>): keyof TaskCounts | undefined {
  if (finished) return undefined;
  if (runningPhases.has(phase)) return 'running';
  return queuedPhases.has(phase) ? 'queued' : undefined;
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
