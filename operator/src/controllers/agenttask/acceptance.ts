import { findCondition } from '@agentfleet/kube';
import type { ExpertPool } from '@agentfleet/protocol/api';
import { isolationLevels, type IsolationLevel } from '@agentfleet/protocol/keeper';
import type { Snapshot } from './snapshot.ts';

/** Why a task is not taken on. */
export interface Refusal {
  readonly reason: string;
  readonly message: string;
  /** Nothing but a change by its owner or the platform's can help. */
  readonly stalled: boolean;
}

const rank = (level: IsolationLevel): number => isolationLevels.indexOf(level);

/** The stronger of what the pool and the task demand. */
export function isolationFloor({ task }: Pick<Snapshot, 'task'>, pool: ExpertPool): IsolationLevel {
  const own = task.spec.policy.minIsolation ?? 'Container';
  return rank(own) > rank(pool.spec.policy.minIsolation) ? own : pool.spec.policy.minIsolation;
}

export function meetsFloor(level: IsolationLevel, floor: IsolationLevel): boolean {
  return rank(level) >= rank(floor);
}

/**
 * Why the pool does not take the task; undefined when it does. `mustWait`: there is no room for it now, so it would make
 * the queue longer. Pure.
 */
export function refusalOf(snapshot: Snapshot, mustWait: boolean): Refusal | undefined {
  const { resolution } = snapshot;
  if (resolution.pool === undefined) {
    const { reason, message } = resolution;
    return { reason, message, stalled: reason === 'AmbiguousDefaultPool' };
  }
  const { pool } = resolution;
  return overBudget(snapshot, pool) ?? belowFloor(snapshot, pool) ?? (mustWait ? queueFull(snapshot, pool) : undefined);
}

function overBudget({ task }: Snapshot, pool: ExpertPool): Refusal | undefined {
  const most = pool.spec.policy.maxBudget ?? {};
  for (const bound of ['wallSeconds', 'toolCalls'] as const) {
    const [asked, allowed] = [task.spec.budget[bound], most[bound]];
    if (asked === undefined || allowed === undefined || asked <= allowed) continue;
    const message = `spec.budget.${bound} is ${asked}, and ExpertPool ${nameOf(pool)} allows ${allowed} at most; create the task again with less, or raise spec.policy.maxBudget.${bound} of the pool`;
    return { reason: 'BudgetTooHigh', message, stalled: true };
  }
  return undefined;
}

function belowFloor(snapshot: Snapshot, pool: ExpertPool): Refusal | undefined {
  const { task } = snapshot;
  const runtimeClass = task.spec.sandbox?.runtimeClassName ?? pool.spec.sandbox.template?.runtimeClassName;
  if (isolationFloor(snapshot, pool) !== 'RuntimeClass' || runtimeClass !== undefined) return undefined;
  const message = `isolation RuntimeClass is demanded and no RuntimeClass is named; set spec.sandbox.runtimeClassName, or that of the template of ExpertPool ${nameOf(pool)}`;
  return { reason: 'IsolationBelowFloor', message, stalled: true };
}

/** What was accepted stays accepted, although the bound may have been lowered since. */
function queueFull({ task, queue }: Snapshot, pool: ExpertPool): Refusal | undefined {
  const most = pool.spec.limits?.maxQueued;
  if (most === undefined || queue.waiting < most || findCondition(task.status?.conditions, 'Accepted')?.status === 'True') return undefined;
  const message = `${queue.waiting} tasks wait for ExpertPool ${nameOf(pool)} and spec.limits.maxQueued is ${most}; it is tried again when there is room`;
  return { reason: 'QueueFull', message, stalled: false };
}

export function nameOf({ metadata }: ExpertPool): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}
