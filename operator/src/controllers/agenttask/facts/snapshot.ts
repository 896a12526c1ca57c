import { type NewEvent, findCondition, isControlledBy } from '@agentfleet/kube';
import {
  type AgentTask,
  type AgentTaskOrder,
  type AgentTaskStatus,
  type RolloutStatus,
  type Reason,
  type Run,
  cancelModes,
  type AgentTaskSpec,
  type Assignment,
  type CancelMode,
} from '@agentfleet/protocol/api';
import type { Amount, Held } from '../../../pools/spending.ts';
import type { Resolution } from '../../../pools/resolve.ts';
import type { ConditionValue, PersistentVolumeClaim, Pod, VolumeSnapshot } from '../../../runtime/resources.ts';
import type { ClusterCapabilities } from '../sandbox/capabilities.ts';
import { type Opening, lossOf, sandboxState, usablePods, type SandboxState } from '../sandbox/state.ts';
import type { QueueView } from '../queue/poolQueue.ts';
import type { HeldIn, SpendingView } from '../queue/spending.ts';
import { gateOf, type Gate, type Holding, type QuotaAction, type QuotaView } from '../queue/quota.ts';

/** A worker of a pool as the caches show it. */
export interface WorkerView {
  readonly name: string;
  readonly namespace: string;
  /** Takes tasks: its pod is ready and its Lease fresh. */
  readonly ready: boolean;
  /** Reason for which it is lost, in words; undefined while it lives. */
  readonly lost: string | undefined;
  /** Tasks that it runs, without the one that is decided about. */
  readonly load: number;
}

/** Storage objects that belong to a task with `spec.sandbox.storage`; the oldest first. */
export interface StorageView {
  readonly claims: readonly PersistentVolumeClaim[];
  /** Undefined: the cluster does not know VolumeSnapshots. */
  readonly snapshots: readonly VolumeSnapshot[] | undefined;
  /** Reason for which no volume can be made; looked for where one would be made. */
  readonly fault: { readonly reason: Reason; readonly message: string } | undefined;
}

/** All that a decision about one task looks at; read in one moment, never changed. */
export interface Snapshot {
  readonly task: AgentTask;
  /** Whether Git owns it, and would make it again when it were deleted. */
  readonly tracked: boolean;
  /** Whether a task that has not begun depends on it, and has to find how it ended. */
  readonly awaited: boolean;
  readonly resolution: Resolution;
  /** The rollout of the EnergyModel that its pool names; absent: there is none. */
  readonly judges?: RolloutStatus;
  /** Whether the platform lists hosts for set-up steps with network Registries. */
  readonly registriesListed: boolean;
  /** NetworkPolicies of others that open the wall of its sandbox. */
  readonly openings: readonly Opening[];
  /** Nodes and runtimes that the cluster can run sandboxes on. */
  readonly capabilities: ClusterCapabilities;
  /** Whether the namespace has what sandboxes and workers need there. */
  readonly prepared: boolean;
  /** Reason for which the API server does not let it be prepared; absent: unknown. */
  readonly unprepared?: string;
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
  /** Reason for which the API server refused the sandbox a moment ago. */
  readonly refusal: string | undefined;
  /** Undefined for a task without storage. */
  readonly storage: StorageView | undefined;
  /** Absent: neither the task nor its pool has to do with caps of spending. */
  readonly spending?: SpendingView;
  /** Absent: it has nothing to do with Kueue. */
  readonly quota?: QuotaView;
  /** Undefined: it waits for no other task. */
  readonly dependencies: DependencyView | undefined;
  /** Newest warning of the kubelet about the sandbox of the assignment, while it prepares that; absent: none. */
  readonly note?: string;
  /** Ms since this process last wrote the status; Infinity when it has not. */
  readonly sinceWriteMs: number;
}

/** Change of the cluster besides the status. */
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
  /** Its worker is not there to report that nothing goes on any more. */
  | { readonly type: 'closeRun' }
  | { readonly type: 'deleteTask' }
  | QuotaAction;

/** Desired status without what the worker owns. */
export type DesiredStatus = Omit<AgentTaskStatus, 'run'>;

/** Next actions for a task, and its status. */
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

/** Reason for which a task is not taken on. */
export interface Refusal {
  readonly reason: Reason;
  readonly message: string;
  /** Nothing but a change by its owner or the platform's can help. */
  readonly stalled: boolean;
}

export const conditionValue = (status: ConditionValue['status'], reason: Reason, message: string): ConditionValue => ({
  status,
  reason,
  message,
});

/** Final result of the task. */
export interface Verdict {
  readonly result: 'Succeeded' | 'Failed' | 'Cancelled';
  readonly reason: Reason;
  readonly message: string;
}

/** States of the tasks that a task depends on; names in the order of its spec. */
export interface DependencyView {
  /** There and not ended. */
  readonly pending: readonly string[];
  /** Not there (yet, or any more). */
  readonly missing: readonly string[];
  /** Ended otherwise than Succeeded. */
  readonly failed: readonly { readonly name: string; readonly phase: string }[];
  /** Names along which the task waits for itself, from it back to it. */
  readonly cycle: readonly string[] | undefined;
}

/** An act that the worker holds back. */
export type PendingApproval = NonNullable<Run['pendingApproval']>;

/** The volume of a new sandbox: one that is there, an empty one, or one from a snapshot. */
export type ClaimChoice =
  | { readonly kind: 'Held' | 'Create'; readonly name: string }
  | { readonly kind: 'Restore'; readonly name: string; readonly snapshot: string };

/** The sandbox of an attempt: the one that the task has, a new one, or one that waits ready. */
export type SandboxChoice =
  | { readonly kind: 'Held'; readonly name: string }
  | { readonly kind: 'Create'; readonly name: string; readonly claim?: ClaimChoice }
  | { readonly kind: 'Claim'; readonly name: string; readonly pod: Pod };

/**
 * Progress of a suspended task to rest: it has no sandbox; the sandbox is given back; the worker is to report that all is stored; or no
 * worker can report it, so that the sandbox is kept.
 */
export type Rest = 'NoSandbox' | 'Ending' | 'Quiescing' | 'Kept';

/** State to which a decision takes the task. */
export type Transition =
  /** It has ended before. */
  | { readonly kind: 'Ended' }
  | { readonly kind: 'End'; readonly verdict: Verdict; readonly undone: Undone | undefined }
  | { readonly kind: 'Refuse'; readonly refusal: Refusal }
  | {
      readonly kind: 'Wait';
      readonly reason: Reason;
      readonly message: string;
      readonly untilMs?: number;
      readonly position?: number;
      /** Since when the wait counts as one in the queue is reported. */
      readonly queued?: boolean;
      /** Reason for which the sandbox before did not come to work. */
      readonly because?: { readonly reason: Reason; readonly message: string };
      /** It is newer than what kept the sandbox before from starting. */
      readonly newer?: boolean;
      /** It will be over in a moment, so that it is not worth a write. */
      readonly brief?: boolean;
      /** It waits for nothing but Kueue. */
      readonly gated?: boolean;
    }
  /** `held`: what the attempt may spend, where the pool caps that. */
  | { readonly kind: 'Bind'; readonly worker: WorkerView; readonly sandbox: SandboxChoice; readonly held?: Held }
  | { readonly kind: 'Run' }
  /** The worker holds an act back until a person, or the time, has decided. */
  | { readonly kind: 'Await'; readonly pending: PendingApproval }
  /** `gate`: not by its owner, but until Kueue admits it again. */
  | { readonly kind: 'Suspend'; readonly rest: Rest; readonly gate?: Gate }
  | { readonly kind: 'Stop' }
  /** `worker`: it is given to another one. */
  | { readonly kind: 'Rollback'; readonly verdict: Verdict; readonly worker?: WorkerView; readonly untilMs: number };

/** Outcome for the changes: the condition RolledBack. */
export interface Undone {
  readonly status: 'True' | 'False';
  readonly reason: 'Restored' | 'Discarded' | 'NotVerified' | 'Kept';
  readonly message: string;
}

/** Conclusions from a snapshot at one moment, before anything is decided. */
export interface Facts {
  readonly snapshot: Snapshot;
  /** Wall time, ms since the epoch. */
  readonly now: number;
  readonly task: AgentTask;
  readonly spec: AgentTaskSpec;
  readonly status: AgentTaskStatus;
  readonly assignment: Assignment | undefined;
  /** The report under the present epoch; an older one does not describe what goes on now. */
  readonly run: Run | undefined;
  /** Whether the assigned attempt has not been closed. */
  readonly open: boolean;
  /**
   * Whether the worker has come to rest under the present assignment and all that is needed is stored: then neither it
   * nor the sandbox is needed to go on.
   */
  readonly atRest: boolean;
  readonly cancel: CancelMode;
  /** Reason for which Kueue does not let it work; undefined: it does, or was not asked. */
  readonly gate: Gate | undefined;
  /** The pod that is worked in, or that the next attempt will be worked in. */
  readonly sandbox: Pod | undefined;
  readonly sandboxIs: SandboxState | undefined;
  /** Whether the sandbox of the assignment has answered, now or before. */
  readonly answered: boolean;
  /** Reason for which the assigned sandbox cannot be worked in any more. */
  readonly sandboxLoss: string | undefined;
  /** Ms until the deadline; Infinity before the clock starts and while it stands still. */
  readonly remainingMs: number;
}

export function factsOf(snapshot: Snapshot, now: number): Facts {
  const { task, pods } = snapshot;
  const { spec, status = {} } = task;
  const { assignment } = status;
  const usable = usablePods(task, pods);
  const sandbox = usable.find(({ metadata }) => metadata.name === assignment?.sandbox) ?? usable[0];
  const assigned = pods.find((pod) => pod.metadata.name === assignment?.sandbox && isControlledBy(pod, task));
  const hasAnswered = assignment?.sandboxReadyAt !== undefined || findCondition(status.conditions, 'SandboxReady')?.status === 'True';
  const wasReady = sandbox?.metadata.name === assignment?.sandbox && hasAnswered;
  const run = currentRun(status);
  const sandboxIs = sandbox === undefined ? undefined : noted(sandboxState(sandbox, wasReady), snapshot.note);
  const isReady = sandbox?.metadata.name === assignment?.sandbox && sandboxIs?.ready === true;
  return {
    snapshot,
    now,
    task,
    spec,
    status,
    assignment,
    run,
    open: isOpen(status),
    atRest: assignment?.directive === 'Quiesce' && run?.quiescedAt !== undefined,
    cancel: cancelMode(snapshot),
    gate: snapshot.quota === undefined ? undefined : gateOf(snapshot.quota),
    sandbox,
    sandboxIs,
    answered: assignment?.sandboxReadyAt !== undefined || wasReady || isReady || run?.snapshots?.initial !== undefined,
    sandboxLoss: assignment === undefined ? undefined : lossOf(assigned, assignment.sandbox),
    remainingMs: remainingMs(snapshot, now),
  };
}

/** A pod that waits for a volume, its network or its runtime reports only that it starts. */
function noted(state: SandboxState, note: string | undefined): SandboxState {
  return state.reason !== 'Starting' || note === undefined ? state : { ...state, message: `${state.message}: ${note}` };
}

/** Returns the facts about a task for its Workload; `open`: its attempt goes on. Pure. */
export function holdingOf(facts: Facts, transition: Transition, open: boolean): Holding {
  const { task, now, snapshot, answered, status } = facts;
  const { kind } = transition;
  const succeeded = kind === 'End' ? transition.verdict.result === 'Succeeded' : status.phase === 'Succeeded';
  const message = kind === 'End' ? transition.verdict.message : `the task has ended: ${status.phase ?? ''}`;
  return {
    task,
    now,
    asks:
      (kind === 'Wait' && transition.gated === true) ||
      (kind === 'Suspend' && transition.gate !== undefined && transition.rest === 'NoSandbox'),
    refused: kind === 'Refuse',
    works: answered && (kind === 'Run' || kind === 'Await'),
    ended: kind === 'End' || kind === 'Ended' ? { succeeded, message } : undefined,
    open,
    pods: snapshot.pods.length > 0,
  };
}

function isOpen({ assignment, attempts }: AgentTaskStatus): boolean {
  return assignment !== undefined && attempts?.at(-1)?.number !== assignment.attempt;
}

function currentRun({ run, assignment }: AgentTaskStatus): Run | undefined {
  return run !== undefined && run.epoch === assignment?.epoch && run.attempt === assignment.attempt ? run : undefined;
}

/** The strongest of what the spec and a standing order say. */
function cancelMode({ task, cancelOrder }: Snapshot): CancelMode {
  const ordered: CancelMode = cancelOrder === undefined ? 'None' : 'Rollback';
  return cancelModes.indexOf(ordered) > cancelModes.indexOf(task.spec.cancel) ? ordered : task.spec.cancel;
}

/** Seconds that a task has: what it asks for, and never more than its pool allows. Pure. */
export function deadlineSecondsOf({ task, resolution: { pool } }: Pick<Snapshot, 'task' | 'resolution'>): number {
  return Math.min(task.spec.deadlineSeconds, pool?.spec.policy.maxDeadlineSeconds ?? Infinity);
}

/** Seconds for which a task that has ended keeps what it holds: what it asks for, and never more than its pool allows. Pure. */
export function retentionOf({ task: { spec }, resolution: { pool } }: Pick<Snapshot, 'task' | 'resolution'>): AgentTaskSpec['retention'] {
  const most = pool?.spec.policy.maxRetentionSeconds ?? Infinity;
  const { sandboxSeconds, snapshotsSeconds } = spec.retention;
  return { sandboxSeconds: Math.min(sandboxSeconds, most), snapshotsSeconds: Math.min(snapshotsSeconds, most) };
}

/** Ms until the deadline; Infinity before the clock starts and while it stands still. */
function remainingMs(snapshot: Pick<Snapshot, 'task' | 'resolution'>, now: number): number {
  const { clock } = snapshot.task.status ?? {};
  if (clock === undefined || clock.pausedAt !== undefined) return Infinity;
  return Date.parse(clock.startedAt) + (clock.pausedSeconds + deadlineSecondsOf(snapshot)) * 1000 - now;
}

/** Returns the end of the longest wait of a task for its turn, ms since the epoch; Infinity for one that works or may wait. Pure. */
export function queuedUntil({ queue }: AgentTaskStatus, { task, resolution: { pool } }: Pick<Snapshot, 'task' | 'resolution'>): number {
  const seconds = pool?.spec.limits?.queueTimeoutSeconds;
  if (seconds === undefined || queue?.since === undefined || task.spec.suspend || isOpen(task.status ?? {})) return Infinity;
  return Date.parse(queue.since) + seconds * 1000;
}
