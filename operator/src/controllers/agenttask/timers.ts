import type { Course } from './course.ts';
import type { Facts } from './facts.ts';
import { sandboxUntil, taskUntil } from './retention.ts';
import { deadlineSecondsOf, queuedUntil } from './deadline.ts';
import { surelyEndedAt } from './sandboxState.ts';
import type { DesiredStatus } from './snapshot.ts';
import { startTimeoutSeconds, startUntil } from './start.ts';

/** Whoever waits is woken when a slot becomes free; this is for a wake-up that was lost, and for the shown position. */
const waitMs = { first: 15_000, perPlace: 1_000, longest: 300_000 } as const;

/** Ms after which time alone may change the decision; undefined when it cannot. At least 1. */
export function timers(facts: Facts, course: Course, status: DesiredStatus, storageMs: number | undefined): number | undefined {
  const { now, snapshot, task } = facts;
  const moments = [
    sandboxUntil(facts, status),
    taskUntil(facts, status),
    ...snapshot.pods.filter((pod) => pod.metadata.deletionTimestamp !== undefined).map(surelyEndedAt),
    ...courseMoments(facts, course, status),
    now + (storageMs ?? Infinity),
  ];
  if (task.metadata.deletionTimestamp !== undefined) return undefined;
  const next = Math.min(...moments.filter((at) => at > now));
  return Number.isFinite(next) ? Math.max(1, Math.ceil(next - now)) : undefined;
}

function courseMoments(facts: Facts, course: Course, status: DesiredStatus): readonly number[] {
  const { now, remainingMs, snapshot } = facts;
  // The deadline of a clock that runs from now on is not known to the facts. That a worker is lost is told, see Wakes.
  const resumes = remainingMs === Infinity && status.clock !== undefined && status.clock.pausedAt === undefined;
  const deadline = resumes ? now + deadlineSecondsOf(snapshot) * 1000 : now + remainingMs;
  switch (course.kind) {
    case 'Ended':
    case 'End':
      return [];
    case 'Suspend':
      return [startUntil(facts)];
    case 'Await':
      return [Date.parse(course.pending.expires)];
    case 'Refuse':
      return [now + waitMs.longest];
    case 'Wait':
      return [
        course.untilMs ?? now + Math.min(waitMs.longest, waitMs.first + waitMs.perPlace * (course.position ?? 0)),
        deadline,
        queuedUntil(status, snapshot),
      ];
    case 'Rollback':
      return [course.untilMs];
    case 'Bind': {
      const starts = status.assignment?.sandboxReadyAt === undefined;
      return [deadline, starts ? now + startTimeoutSeconds(snapshot.resolution.pool) * 1000 : Infinity];
    }
    case 'Run':
    case 'Stop':
      break;
  }
  return [deadline, startUntil(facts)];
}
