import { findCondition, isControlledBy } from '@agentfleet/kube';
import {
  cancelModes,
  type AgentTask,
  type AgentTaskSpec,
  type AgentTaskStatus,
  type Assignment,
  type CancelMode,
  type Run,
} from '@agentfleet/protocol/api';
import type { Pod } from '../../runtime/resources.ts';
import type { Attempt } from './attempts.ts';
import { remainingMs } from './deadline.ts';
import { lossOf, sandboxState, usablePods, type SandboxState } from './sandboxState.ts';
import type { Snapshot } from './snapshot.ts';

/** What follows from a snapshot at one moment, before anything is decided. */
export interface Facts {
  readonly snapshot: Snapshot;
  /** Wall time, ms since the epoch. */
  readonly now: number;
  readonly task: AgentTask;
  readonly spec: AgentTaskSpec;
  readonly status: AgentTaskStatus;
  readonly assignment: Assignment | undefined;
  /** The report under the present epoch; an older one says nothing about what goes on now. */
  readonly run: Run | undefined;
  /** Whether the assigned attempt has not been closed. */
  readonly open: boolean;
  /**
   * Whether the worker has come to rest under the present assignment and all that is needed is stored: then neither it
   * nor the sandbox is needed to go on.
   */
  readonly atRest: boolean;
  readonly cancel: CancelMode;
  /** The pod that is worked in, or that the next attempt will be worked in. */
  readonly sandbox: Pod | undefined;
  readonly sandboxIs: SandboxState | undefined;
  /** Whether the sandbox of the assignment has answered, now or before. */
  readonly answered: boolean;
  /** Why the assigned sandbox cannot be worked in any more. */
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
  const wasReady = sandbox?.metadata.name === assignment?.sandbox && findCondition(status.conditions, 'SandboxReady')?.status === 'True';
  const run = currentRun(status);
  const sandboxIs = sandbox === undefined ? undefined : sandboxState(sandbox, wasReady);
  const isReady = sandbox?.metadata.name === assignment?.sandbox && sandboxIs?.ready === true;
  return {
    snapshot,
    now,
    task,
    spec,
    status,
    assignment,
    run,
    open: assignment !== undefined && lastAttempt(status)?.number !== assignment.attempt,
    atRest: assignment?.directive === 'Quiesce' && currentRun(status)?.quiescedAt !== undefined,
    cancel: cancelMode(snapshot),
    sandbox,
    sandboxIs,
    answered: assignment?.sandboxReadyAt !== undefined || wasReady || isReady || run?.snapshots?.initial !== undefined,
    sandboxLoss: assignment === undefined ? undefined : lossOf(assigned, assignment.sandbox),
    remainingMs: remainingMs(snapshot, now),
  };
}

export function lastAttempt(status: AgentTaskStatus): Attempt | undefined {
  return status.attempts?.at(-1);
}

function currentRun({ run, assignment }: AgentTaskStatus): Run | undefined {
  return run !== undefined && run.epoch === assignment?.epoch && run.attempt === assignment.attempt ? run : undefined;
}

/** The strongest of what the spec and a standing order say. */
function cancelMode({ task, cancelOrder }: Snapshot): CancelMode {
  const ordered: CancelMode = cancelOrder === undefined ? 'None' : 'Rollback';
  return cancelModes.indexOf(ordered) > cancelModes.indexOf(task.spec.cancel) ? ordered : task.spec.cancel;
}
