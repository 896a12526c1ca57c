import { timestamp } from '@agentfleet/kube';
import { maxShownApprovals } from '@agentfleet/protocol/api';
import type { AgentTask, AgentTaskOrder, Approval } from '@agentfleet/protocol/api';
import type { PendingApproval } from './course.ts';
import type { Facts } from './facts.ts';

/** What has been decided about an act; the newest word counts. */
export function decisionAbout(approvals: readonly Approval[], action: string): Approval | undefined {
  return approvals.findLast((approval) => approval.action === action);
}

/**
 * All decisions about acts of the task, with the one that falls now. A person decides about the act of the last report,
 * whoever will do it: the decision holds in later epochs. Time decides only while a worker waits, because the next one
 * that comes to the act asks for as long as the first. Pure.
 */
export function approvalsOf(facts: Facts): readonly Approval[] {
  const { status } = facts;
  const approvals = status.approvals ?? [];
  const pending = status.run?.pendingApproval;
  if (status.finished === 'true' || pending === undefined || decisionAbout(approvals, pending.action) !== undefined) return approvals;
  const decision = byPerson(facts, pending) ?? byTime(facts, pending);
  return decision === undefined ? approvals : [...approvals, decision].slice(-maxShownApprovals);
}

/** The first order that names the act; one that came when the time was over comes too late. */
function byPerson({ snapshot, now }: Facts, { action, expires }: PendingApproval): Approval | undefined {
  const inTime = ({ metadata }: AgentTaskOrder): boolean => Date.parse(metadata.creationTimestamp ?? '') <= Date.parse(expires);
  const order = snapshot.answers.find((answer) => answer.spec.action === action && inTime(answer));
  if (order === undefined) return undefined;
  const { type, requester } = order.spec;
  const decision = type === 'Approve' ? 'Approved' : 'Rejected';
  return { action, decision, orderRef: { name: order.metadata.name }, requester, at: timestamp(now) };
}

function byTime({ run, now, spec, assignment }: Facts, { action, expires }: PendingApproval): Approval | undefined {
  const waits = run?.pendingApproval !== undefined && run.outcome === undefined && !spec.suspend && assignment?.directive === 'Run';
  return waits && now >= Date.parse(expires) ? { action, decision: 'Rejected', at: timestamp(now) } : undefined;
}

/** The act that the worker holds back under the present epoch and about which nothing is decided. */
export function awaitedAct({ run }: Facts, approvals: readonly Approval[]): PendingApproval | undefined {
  const pending = run?.pendingApproval;
  return pending === undefined || decisionAbout(approvals, pending.action) !== undefined ? undefined : pending;
}

/** What a person reads who has to decide. */
export function howToAnswer({ metadata }: Pick<AgentTask, 'metadata'>, { summary, expires }: PendingApproval): string {
  const where = `${metadata.name} -n ${metadata.namespace ?? ''}`;
  return `${summary}; answer with "kubectl fleet approve ${where}" or "kubectl fleet reject ${where}"; rejected by itself at ${expires}`;
}

/** A decision in words. */
export function decisionNote({ action, decision, orderRef, requester }: Approval): string {
  if (orderRef === undefined) return `the time was over before anybody decided about act ${action}`;
  return `${requester ?? 'somebody'} ${decision === 'Approved' ? 'approved' : 'rejected'} act ${action} by AgentTaskOrder ${orderRef.name}`;
}
