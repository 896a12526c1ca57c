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
  return decision === undefined ? approvals : [...approvals.map(withoutWords), decision].slice(-maxShownApprovals);
}

/** The worker has noted what was said to all but the newest: it asks about one thing at a time. */
function withoutWords(approval: Approval): Approval {
  const { answer: _, reason: __, ...decision } = approval;
  return decision;
}

const decisions = { Approve: 'Approved', Reject: 'Rejected', Answer: 'Answered' } as const;
type Decisive = keyof typeof decisions;

/** Types of orders that decide about what waits; a question that is rejected stays without an answer. */
export function decisiveTypes({ kind }: Pick<PendingApproval, 'kind'>): readonly Decisive[] {
  return kind === 'Question' ? ['Answer', 'Reject'] : ['Approve', 'Reject'];
}

function isDecisive(type: AgentTaskOrder['spec']['type'], pending: PendingApproval): type is Decisive {
  return decisiveTypes(pending).some((one) => one === type);
}

/** The first order that names the act; one that came when the time was over comes too late. */
function byPerson({ snapshot, now }: Facts, pending: PendingApproval): Approval | undefined {
  const { action, expires } = pending;
  const inTime = ({ metadata }: AgentTaskOrder): boolean => Date.parse(metadata.creationTimestamp ?? '') <= Date.parse(expires);
  const fits = (order: AgentTaskOrder): boolean => order.spec.action === action && isDecisive(order.spec.type, pending) && inTime(order);
  const order = snapshot.answers.find(fits);
  if (order === undefined || !isDecisive(order.spec.type, pending)) return undefined;
  const { type, requester, message, reason } = order.spec;
  const words = { ...(type === 'Answer' && { answer: message ?? '' }), ...(reason !== undefined && { reason }) };
  return { action, decision: decisions[type], ...words, orderRef: { name: order.metadata.name }, requester, at: timestamp(now) };
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
export function howToAnswer({ metadata }: Pick<AgentTask, 'metadata'>, { kind, summary, expires }: PendingApproval): string {
  const where = `${metadata.name} -n ${metadata.namespace ?? ''}`;
  if (kind === 'Question')
    return `${summary}; answer with "kubectl fleet answer ${where} <text>"; without an answer the task goes on at ${expires}`;
  return `${summary}; answer with "kubectl fleet approve ${where}" or "kubectl fleet reject ${where}"; rejected by itself at ${expires}`;
}

/** A decision in words. */
export function decisionNote({ action, decision, orderRef, requester }: Approval): string {
  if (orderRef === undefined) return `the time was over before anybody decided about act ${action}`;
  return `${requester ?? 'somebody'} ${decision.toLowerCase()} ${decision === 'Answered' ? 'question' : 'act'} ${action} by AgentTaskOrder ${orderRef.name}`;
}
