import type { AgentTask, AgentTaskStatus } from '@agentfleet/protocol/api';
import type { Snapshot } from './snapshot.ts';

/** Seconds that a task has: what it asks for, and never more than its pool allows. Pure. */
export function deadlineSecondsOf({ task, resolution: { pool } }: Pick<Snapshot, 'task' | 'resolution'>): number {
  return Math.min(task.spec.deadlineSeconds, pool?.spec.policy.maxDeadlineSeconds ?? Infinity);
}

/** Ms until the deadline; Infinity before the clock starts and while it stands still. */
export function remainingMs(snapshot: Pick<Snapshot, 'task' | 'resolution'>, now: number): number {
  const { clock } = snapshot.task.status ?? {};
  if (clock === undefined || clock.pausedAt !== undefined) return Infinity;
  return Date.parse(clock.startedAt) + (clock.pausedSeconds + deadlineSecondsOf(snapshot)) * 1000 - now;
}

/** When a task has waited long enough for its turn, in ms since the epoch; Infinity for one that works or may wait. Pure. */
export function queuedUntil({ queue }: AgentTaskStatus, { task, resolution: { pool } }: Pick<Snapshot, 'task' | 'resolution'>): number {
  const seconds = pool?.spec.limits?.queueTimeoutSeconds;
  if (seconds === undefined || queue?.since === undefined || isHeld(task)) return Infinity;
  return Date.parse(queue.since) + seconds * 1000;
}

function isHeld({ spec, status }: AgentTask): boolean {
  const { assignment, attempts } = status ?? {};
  return spec.suspend || (assignment !== undefined && attempts?.at(-1)?.number !== assignment.attempt);
}
