import type { Timeline } from '../follow.ts';
import { conditionOf, type Stage, type Evidence } from '../stage.ts';
import { succeeds } from './succeeds.ts';

/** An act that a person has to allow: the task waits, its clock stands still, and it goes on with the order. */
export async function approved(stage: Stage, timeline: Timeline): Promise<Evidence> {
  const { proofs } = stage;
  const waiting = timeline.states.find(({ task }) => conditionOf(task, 'AwaitingApproval')?.status === 'True');
  proofs.prove('the task waited for a person', waiting !== undefined, waiting?.task.status?.run?.pendingApproval?.summary);
  const evidence = await succeeds(stage, timeline);
  const decision = timeline.end.status?.approvals?.at(-1);
  const seen = `${decision?.decision ?? 'nothing'} by ${decision?.requester ?? 'nobody'}`;
  proofs.prove('the order that allowed it stands in the status', decision?.decision === 'Approved', seen);
  const paused = timeline.end.status?.clock?.pausedSeconds ?? 0;
  proofs.fact(`the deadline's clock stood still for ${paused} s`);
  return evidence;
}
