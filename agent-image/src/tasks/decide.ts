import { findCondition } from '@agentfleet/kube';
import type { AgentTask, Directive } from '@agentfleet/protocol/api';

/** State of one task for this worker, read from the object. */
export interface Seen {
  readonly uid: string;
  readonly epoch: number;
  readonly directive: Directive;
  /** Whether the report of this attempt and epoch already shows the directive as fulfilled. */
  readonly fulfilled: boolean;
}

/** Work of this process for the task. */
export interface Known {
  readonly uid: string;
  readonly epoch: number;
  /** The directive that is being followed, or was. */
  readonly directive: Directive;
  /** Ending: it was asked to stop and has not yet. Done: nothing runs. Spent: nothing runs, and the epoch was refused. */
  readonly state: 'Active' | 'Ending' | 'Done' | 'Spent';
}

/** State of the whole worker. */
export interface Gate {
  /** False while the Lease is stale: nothing may run. */
  readonly fresh: boolean;
  /** False while the process stops: nothing new begins. */
  readonly accepting: boolean;
  /** Tasks whose directive is the same, and is being followed. */
  readonly active: number;
  readonly concurrency: number;
}

export type Decision =
  | { readonly type: 'None' }
  /** Follow the directive, in a new runner when there was none under this epoch. */
  | { readonly type: 'Start' }
  /** All places for its directive are taken; retried when one is free. */
  | { readonly type: 'Wait' }
  /** Stop what runs, because another directive came; reports stay. */
  | { readonly type: 'Interrupt'; readonly reason: Directive }
  /** Stop what runs and forget it: nothing more is written under its epoch. */
  | { readonly type: 'Drop' };

const none: Decision = { type: 'None' };

/**
 * Decides for one task. Level-triggered: it is called after every change of the object, of the lease and of what runs,
 * and its result depends on the present state only. At most one engine call runs, because nothing starts before the
 * previous one is Done.
 */
export function decide(known: Known | undefined, seen: Seen | undefined, gate: Gate): Decision {
  if (known === undefined) return seen === undefined ? none : begin(seen, gate);
  const same = seen !== undefined && seen.uid === known.uid && seen.epoch === known.epoch;
  // A cache that lags must not bring an older assignment back.
  if (seen !== undefined && seen.uid === known.uid && seen.epoch < known.epoch) return none;
  if (known.state === 'Ending') return same && gate.fresh ? none : { type: 'Drop' };
  if (!same || !gate.fresh) return { type: 'Drop' };
  if (known.state === 'Spent') return none;
  if (seen.directive === known.directive) return none;
  return known.state === 'Active' ? { type: 'Interrupt', reason: seen.directive } : begin(seen, gate);
}

/** Tasks of each other directive than Run that are ended at a time: the operator gives a slot to another before, or asks for none. */
export const mostBeside = 16;

function begin(seen: Seen, gate: Gate): Decision {
  if (!gate.fresh || !gate.accepting || seen.fulfilled) return none;
  return gate.active >= (seen.directive === 'Run' ? gate.concurrency : mostBeside) ? { type: 'Wait' } : { type: 'Start' };
}

/** The task as this worker has to see it; undefined when it is not assigned to it, has ended, or is being deleted. */
export function see(task: AgentTask | undefined, pod: { readonly name: string; readonly namespace: string }): Seen | undefined {
  const { assignment, finished, run, attempts } = task?.status ?? {};
  if (task === undefined || assignment === undefined || finished === 'true') return undefined;
  if (assignment.worker !== pod.name || assignment.workerNamespace !== pod.namespace) return undefined;
  // Its sandbox never became ready and was released: waiting for it would hold a place for ever.
  const last = attempts?.at(-1);
  if (last?.started === false && last.number === assignment.attempt) return undefined;
  const current = run !== undefined && run.epoch === assignment.epoch && run.attempt === assignment.attempt ? run : undefined;
  const { epoch, directive } = assignment;
  return { uid: task.metadata.uid ?? '', epoch, directive, fulfilled: fulfilled(directive, current) };
}

function fulfilled(directive: Directive, run: NonNullable<AgentTask['status']>['run']): boolean {
  if (directive === 'Rollback') return run?.rollback !== undefined;
  if (directive === 'Quiesce') return run?.quiescedAt !== undefined;
  return run?.outcome !== undefined;
}

/**
 * Returns the snapshot that `Rollback` restores. `Keep` is never requested; the initial snapshot is the safe default. A
 * task that an order cancelled shows that in its verdict alone: its last attempt may have ended before.
 */
export function rollbackTarget({ spec, status }: Pick<AgentTask, 'spec' | 'status'>): 'Initial' | 'LastGreen' {
  const cancelled = spec.cancel === 'Rollback' || findCondition(status?.conditions, 'Succeeded')?.reason === 'Cancelled';
  return !cancelled && spec.rollback.whenFailed === 'RestoreLastGreen' ? 'LastGreen' : 'Initial';
}
