import { timestamp } from '@agentfleet/kube';
import type { AgentTaskStatus } from '@agentfleet/protocol/api';
import { nameOf } from './acceptance.ts';
import type { Transition } from './transition.ts';
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
export function clockOf(facts: Facts, transition: Transition): AgentTaskStatus['clock'] {
  const { now } = facts;
  if (transition.kind === 'Ended') return facts.status.clock;
  const clock = facts.status.clock ?? (starts(facts, transition) ? { startedAt: timestamp(now), pausedSeconds: 0 } : undefined);
  if (clock === undefined) return undefined;
  if (transition.kind === 'Suspend' || transition.kind === 'Await') return { ...clock, pausedAt: clock.pausedAt ?? timestamp(now) };
  if (clock.pausedAt === undefined) return clock;
  const paused = Math.max(0, Math.round((now - Date.parse(clock.pausedAt)) / 1000));
  return { startedAt: clock.startedAt, pausedSeconds: clock.pausedSeconds + paused };
}

function starts({ answered, sandboxIs }: Facts, transition: Transition): boolean {
  if (transition.kind !== 'Bind')
    return answered && (transition.kind === 'Run' || transition.kind === 'Await' || transition.kind === 'Stop');
  return transition.sandbox.kind === 'Claim' || (transition.sandbox.kind === 'Held' && sandboxIs?.ready === true);
}
