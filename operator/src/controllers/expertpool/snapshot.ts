import type { EnergyModel, ExpertPool } from '@agentfleet/protocol/api';
import type { EgressBrief } from '@agentfleet/protocol/pool';
import type { Images } from '../../runtime/context.ts';
import type { Deployment, PersistentVolumeClaim, Pod } from '../../runtime/objects.ts';
import type { TaskGroup, TaskTraits } from '../../runtime/taskTally.ts';
import type { ServerInfo } from '../../serving/index.ts';
import type { Child } from './children.ts';
import type { Replay } from './replay.ts';

/** How many tasks a pool has. */
export interface TaskCounts {
  readonly running: number;
  readonly queued: number;
}

/** All that decisions about a pool are made from, as the caches showed it at one moment. */
export interface PoolSnapshot {
  readonly pool: ExpertPool;
  readonly images: Images;
  readonly egress: EgressBrief;
  /** Namespace of the operator, which experts hear. */
  readonly operatorNamespace: string;
  /** The EnergyModel that the pool names; undefined when it names none, and when there is none of that name. */
  readonly energyModel: EnergyModel | undefined;
  /** Namespaces whose tasks the workers may read already, sorted. */
  readonly namespaces: readonly string[];
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
