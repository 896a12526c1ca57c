import { findCondition, type NewEvent } from '@agentfleet/kube';
import type { Reason } from '@agentfleet/protocol/api';
import { decisionNote, howToAnswer } from './approvals.ts';
import type { Ending } from './attempts.ts';
import type { Transition } from './transition.ts';
import type { Facts } from './facts.ts';
import type { DesiredStatus } from './snapshot.ts';

const normal = (reason: Reason, action: string, note: string): NewEvent => ({ type: 'Normal', reason, action, note });
const warning = (reason: Reason, action: string, note: string): NewEvent => ({ type: 'Warning', reason, action, note });

/** Events to record when the status is written: transitions only, at most one of each kind. */
export function milestones(facts: Facts, transition: Transition, ending: Ending | undefined, next: DesiredStatus): readonly NewEvent[] {
  const { assignment, status } = facts;
  const events: NewEvent[] = [];
  if (ending?.result === 'Failed') {
    events.push(
      warning('AttemptFailed', 'Run', `attempt ${assignment?.attempt ?? 0}: ${ending.class ?? ''} (${ending.reason}): ${ending.message}`),
    );
  }
  events.push(...decided(facts, next));
  const phase = status.phase;
  switch (transition.kind) {
    case 'Bind':
      // Most tasks begin at once, and the condition Scheduled says so: one write in four less.
      if (status.conditions !== undefined) events.push(normal('Assigned', 'Assign', assignedNote(next)));
      break;
    case 'Wait':
      if (status.conditions === undefined) events.push(normal('Accepted', 'Queue', `waits: ${transition.message}`));
      break;
    case 'Refuse':
      if (acceptedReason(status) !== transition.refusal.reason) events.push(warning('NotAccepted', 'Accept', transition.refusal.message));
      break;
    case 'Suspend':
      if (phase !== undefined && phase !== 'Suspended') events.push(normal('Suspended', 'Suspend', 'spec.suspend is true'));
      break;
    case 'Await':
      if (phase !== 'AwaitingApproval') events.push(warning('AwaitingApproval', 'Approve', howToAnswer(facts.task, transition.pending)));
      break;
    case 'Rollback':
      if (phase !== 'RollingBack') events.push(normal('RollingBack', 'Rollback', transition.verdict.message));
      break;
    case 'End':
      events.push(...ended(facts, transition));
      break;
    case 'Run':
    case 'Stop':
    case 'Ended':
  }
  return events;
}

/** Decisions that this status is the first to show. */
function decided({ status }: Facts, { approvals = [] }: DesiredStatus): readonly NewEvent[] {
  const known = new Set(status.approvals?.map(({ action }) => action));
  return approvals
    .filter(({ action }) => !known.has(action))
    .map((approval) => normal(approval.decision, 'Approve', decisionNote(approval)));
}

function acceptedReason(status: DesiredStatus): string | undefined {
  return findCondition(status.conditions, 'Accepted')?.reason;
}

function assignedNote({ assignment }: DesiredStatus): string {
  if (assignment === undefined) return '';
  const { attempt, workerNamespace, worker, sandbox } = assignment;
  return `attempt ${attempt} to worker ${workerNamespace}/${worker} in sandbox ${sandbox}`;
}

function ended({ snapshot, spec }: Facts, { verdict, undone }: Extract<Transition, { kind: 'End' }>): readonly NewEvent[] {
  const events: NewEvent[] = [];
  if (undone !== undefined) {
    const tell = undone.status === 'True' ? normal : warning;
    events.push(tell(undone.status === 'True' ? 'RolledBack' : undone.reason, 'Rollback', undone.message));
  }
  const tell = verdict.result === 'Failed' ? warning : normal;
  events.push(tell(verdict.result, 'Finish', verdict.message));
  if (spec.ttlSecondsAfterFinished !== undefined && snapshot.tracked) {
    events.push(
      warning(
        'TTLIgnored',
        'Keep',
        'spec.ttlSecondsAfterFinished is ignored: Git owns the task and would make it, and run it, again; remove it from Git instead',
      ),
    );
  }
  return events;
}
