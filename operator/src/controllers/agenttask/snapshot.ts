import type { NewEvent } from '@agentfleet/kube';
import type { AgentTask, AgentTaskOrder, AgentTaskStatus, RolloutStatus, Reason } from '@agentfleet/protocol/api';
import type { Amount, Held } from '../../pools/spending.ts';
import type { Resolution } from '../../pools/resolve.ts';
import type { PersistentVolumeClaim, Pod, VolumeSnapshot } from '../../runtime/resources.ts';
import type { ClaimChoice } from './transition.ts';
import type { DependencyView } from './dependencies.ts';
import type { ClusterCapabilities } from './nodeAbility.ts';
import type { Opening } from './openings.ts';
import type { HeldIn, SpendingView } from './spending.ts';
import type { QueueView } from './queue/poolQueue.ts';

/** A worker of a pool as the caches show it. */
export interface WorkerView {
  readonly name: string;
  readonly namespace: string;
  /** Takes tasks: its pod is ready and its Lease fresh. */
  readonly ready: boolean;
  /** Why it is lost, in words; undefined while it lives. */
  readonly lost: string | undefined;
  /** Ms until it is lost unless it renews its Lease. */
  readonly freshMs: number;
  /** Tasks that it runs, without the one that is decided about. */
  readonly load: number;
}

/** What a task with `spec.sandbox.storage` has in the cluster, and nobody else; the oldest first. */
export interface StorageView {
  readonly claims: readonly PersistentVolumeClaim[];
  /** Undefined: the cluster does not know VolumeSnapshots. */
  readonly snapshots: readonly VolumeSnapshot[] | undefined;
  /** Why no volume can be made; looked for where one would be made. */
  readonly fault: { readonly reason: Reason; readonly message: string } | undefined;
}

/** All that a decision about one task looks at; read in one moment, never changed. */
export interface Snapshot {
  readonly task: AgentTask;
  /** Whether Git owns it, and would make it again when it were deleted. */
  readonly tracked: boolean;
  readonly resolution: Resolution;
  /** The rollout of the EnergyModel that its pool names; absent: there is none. */
  readonly judges?: RolloutStatus;
  /** Whether the platform lists hosts for set-up steps with network Registries. */
  readonly registriesListed: boolean;
  /** NetworkPolicies of others that open the wall of its sandbox. */
  readonly openings: readonly Opening[];
  /** What the cluster can run sandboxes on. */
  readonly capabilities: ClusterCapabilities;
  /** Whether the namespace has what sandboxes and workers need there. */
  readonly prepared: boolean;
  /** Sandbox pods with the label of this task, also those of an earlier task of its name. */
  readonly pods: readonly Pod[];
  /** Sandboxes that wait ready and that this task may take, the oldest first. */
  readonly warm: readonly Pod[];
  /** Workers of the pool. */
  readonly workers: readonly WorkerView[];
  /** The worker that the assignment names; undefined without an assignment. */
  readonly assigned: WorkerView | undefined;
  readonly queue: QueueView;
  /** A standing order to cancel this task. */
  readonly cancelOrder: string | undefined;
  /** Standing orders that bring words for the model, in the order in which they were given. */
  readonly messages: readonly AgentTaskOrder[];
  /** Standing orders to decide about what this task waits with, in the order in which they were given. */
  readonly answers: readonly AgentTaskOrder[];
  /** Why the API server refused the sandbox a moment ago. */
  readonly refusal: string | undefined;
  /** Undefined for a task without storage. */
  readonly storage: StorageView | undefined;
  /** Absent: neither the task nor its pool has to do with caps of spending. */
  readonly spending?: SpendingView;
  /** Undefined: it waits for no other task. */
  readonly dependencies: DependencyView | undefined;
  /** Ms since this process last wrote the status; Infinity when it has not. */
  readonly sinceWriteMs: number;
}

/** What is done to the cluster besides the status. */
export type Action =
  | { readonly type: 'releaseSandbox'; readonly pod: Pod }
  | { readonly type: 'createSandbox'; readonly name: string; readonly claim?: ClaimChoice }
  | { readonly type: 'claimSandbox'; readonly pod: Pod }
  | { readonly type: 'deleteSandbox'; readonly pod: Pod }
  | { readonly type: 'setAsideSpending'; readonly held: Held }
  /** Null: all that was set aside is charged. */
  | { readonly type: 'settleSpending'; readonly held: HeldIn; readonly amount: Amount | null }
  | { readonly type: 'createSnapshot'; readonly name: string; readonly claim: string }
  | { readonly type: 'deleteClaim'; readonly claim: PersistentVolumeClaim }
  | { readonly type: 'deleteSnapshot'; readonly snapshot: VolumeSnapshot }
  | { readonly type: 'deleteTask' };

/** Desired status without what the worker owns. */
export type DesiredStatus = Omit<AgentTaskStatus, 'run'>;

/** What is to be done about a task. */
export interface Decision {
  readonly actions: readonly Action[];
  readonly status: DesiredStatus;
  /** Whether the status differs from the cached one. */
  readonly written: boolean;
  /** For people, once the status is written. */
  readonly events: readonly NewEvent[];
  /** Ms after which time alone may change the decision. */
  readonly requeueAfterMs: number | undefined;
  /** The worker whose slot is taken by this decision, and the uid of the waiting sandbox. */
  readonly takes: { readonly worker: string; readonly workerNamespace: string; readonly sandbox: string | undefined } | undefined;
}
