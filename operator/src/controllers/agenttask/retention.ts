import { findCondition } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import { isTracked } from '../../runtime/tracking.ts';
import type { Facts } from './facts.ts';
import type { DesiredStatus } from './snapshot.ts';

/** When the task ended, in ms since the epoch; undefined before. */
export function endedAt(status: DesiredStatus): number | undefined {
  if (status.finished !== 'true') return undefined;
  return Date.parse(findCondition(status.conditions, 'Finished')?.lastTransitionTime ?? '');
}

/** Seconds that a tree stays which was kept on purpose, where the task names no time. */
const keptSeconds = 900;

/** Seconds that the sandbox stays after the end: 0 is at once, but a tree that is kept on purpose is there to be looked at. */
export function staySeconds({ spec }: Pick<Facts, 'spec'>, kept: boolean): number {
  const { sandboxSeconds } = spec.retention;
  return kept && sandboxSeconds === 0 ? keptSeconds : sandboxSeconds;
}

/** When the sandbox of a task that has ended is deleted: −Infinity at once, Infinity not before the task itself. */
export function sandboxUntil(facts: Facts, status: DesiredStatus): number {
  const at = endedAt(status);
  if (at === undefined) return Infinity;
  const undone = findCondition(status.conditions, 'RolledBack');
  if (undone?.reason === 'Discarded') return -Infinity;
  if (undone?.reason === 'NotVerified') return Infinity;
  return at + staySeconds(facts, undone?.reason === 'Kept') * 1000;
}

/** When the task is deleted; Infinity: never. */
export function taskUntil({ spec, snapshot }: Facts, status: DesiredStatus): number {
  const at = endedAt(status);
  if (at === undefined || spec.ttlSecondsAfterFinished === undefined || snapshot.tracked) return Infinity;
  return at + spec.ttlSecondsAfterFinished * 1000;
}

/** What the task keeps. Before the end is written everything: a crash in between must find it again. */
export function afterTheEnd(facts: Facts, status: DesiredStatus): { readonly keepSandbox: boolean; readonly deleteTask: boolean } {
  // One that was made for a task which no pool takes any more, before it was written down.
  const stray = facts.assignment === undefined && status.assignment === undefined && status.phase === 'Pending';
  return { keepSandbox: !stray && facts.now < sandboxUntil(facts, status), deleteTask: facts.now >= taskUntil(facts, status) };
}

/** Ms until something is to be done about a task that has ended; undefined: nothing but what its pods ask for. */
export function careDueMs(task: AgentTask, trackingLabels: readonly string[], now: number): number | undefined {
  const { metadata, status = {}, spec } = task;
  if (status.finished !== 'true' || metadata.deletionTimestamp !== undefined) return undefined;
  if (status.storage !== undefined || status.observedGeneration !== metadata.generation) return 0;
  if (spec.ttlSecondsAfterFinished === undefined || isTracked(task, trackingLabels)) return undefined;
  const ended = Date.parse(findCondition(status.conditions, 'Finished')?.lastTransitionTime ?? '');
  return Math.max(0, ended + spec.ttlSecondsAfterFinished * 1000 - now);
}
