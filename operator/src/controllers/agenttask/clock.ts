import { timestamp } from '@agentfleet/kube';
import type { AgentTaskStatus } from '@agentfleet/protocol/api';
import { nameOf } from './acceptance.ts';
import type { Course } from './course.ts';
import { deadlineSecondsOf } from './deadline.ts';
import type { Facts } from './facts.ts';

/** The bound that is over, as the beginning of a sentence. */
export function deadlineWords({ snapshot, spec }: Facts): string {
  const seconds = deadlineSecondsOf(snapshot);
  const { pool } = snapshot.resolution;
  if (pool === undefined || seconds === spec.deadlineSeconds) return `spec.deadlineSeconds (${seconds}) are over`;
  return `spec.policy.maxDeadlineSeconds (${seconds}) of ExpertPool ${nameOf(pool)} are over`;
}

/**
 * The clock starts when the first sandbox answers, and stands still while the task is suspended or an act waits for a
 * person. Pure.
 */
export function clockOf(facts: Facts, course: Course): AgentTaskStatus['clock'] {
  const { now } = facts;
  if (course.kind === 'Ended') return facts.status.clock;
  const clock = facts.status.clock ?? (starts(facts, course) ? { startedAt: timestamp(now), pausedSeconds: 0 } : undefined);
  if (clock === undefined) return undefined;
  if (course.kind === 'Suspend' || course.kind === 'Await') return { ...clock, pausedAt: clock.pausedAt ?? timestamp(now) };
  if (clock.pausedAt === undefined) return clock;
  const paused = Math.max(0, Math.round((now - Date.parse(clock.pausedAt)) / 1000));
  return { startedAt: clock.startedAt, pausedSeconds: clock.pausedSeconds + paused };
}

function starts({ answered, sandboxIs }: Facts, course: Course): boolean {
  if (course.kind !== 'Bind') return answered && (course.kind === 'Run' || course.kind === 'Await' || course.kind === 'Stop');
  return course.sandbox.kind === 'Claim' || (course.sandbox.kind === 'Held' && sandboxIs?.ready === true);
}
