import { findCondition, timestamp } from '@agentfleet/kube';
import type {
  AgentTask,
  AgentTaskOrder,
  AgentTaskOrderStatus,
  EnergyModel,
  ExpertPool,
  Approval,
  OwnerReference,
} from '@agentfleet/protocol/api';
import { decisionAbout, decisiveTypes } from '../agenttask/approvals.ts';

/** Ms in which a task may be missing, because caches of two kinds are not of one moment. */
export const missingMs = 10_000;

/** Ms in which an act may be unknown for the same reason. */
const unknownActMs = 3_000;

/** Ms after which a refused order is deleted that belongs to nothing, and would go with nothing. */
export const orphanMs = 86_400_000;

/** Decision about an order. */
export interface OrderDecision {
  /** Undefined: it is too early to say. */
  readonly status: AgentTaskOrderStatus | undefined;
  /** The task, when the order is about it; the order goes with it. */
  readonly owner: OwnerReference | undefined;
  readonly requeueAfterMs: number | undefined;
  /** It has been looked at for long enough. */
  readonly remove?: true;
}

/** State that an order is to have, with a message. */
export type Verdict = { readonly state: NonNullable<AgentTaskOrderStatus['state']>; readonly message: string };

/** Decides about an order; what it asks for is done by the controller of tasks. Pure. */
export function decideOrder(order: AgentTaskOrder, task: AgentTask | undefined, now: number): OrderDecision {
  const own = task !== undefined && isAbout(order, task) ? task : undefined;
  const age = now - Date.parse(order.metadata.creationTimestamp ?? '');
  if (own === undefined && order.status?.state === undefined && age < missingMs) {
    return { status: undefined, owner: undefined, requeueAfterMs: Math.max(1, missingMs - age) };
  }
  if (own !== undefined && age < unknownActMs && isUnknown(order, own)) {
    return { status: undefined, owner: ownerOf(own), requeueAfterMs: Math.max(1, unknownActMs - age) };
  }
  const status = statusOf(order, verdictOf(order, own), now);
  if (own === undefined) return { status, owner: undefined, ...orphaned(status, now) };
  return { status, owner: ownerOf(own), requeueAfterMs: undefined };
}

/** Nothing takes it along: neither the garbage collector nor the end of a task. Pure. */
export function orphaned({ at = '' }: AgentTaskOrderStatus, now: number): Pick<OrderDecision, 'requeueAfterMs' | 'remove'> {
  const restMs = Date.parse(at) + orphanMs - now;
  return restMs > 0 ? { requeueAfterMs: restMs } : { requeueAfterMs: undefined, remove: true };
}

/** Reports whether the task does not show the act of the order yet: the requester may have seen a newer report than the cache shows. */
function isUnknown({ spec, status }: AgentTaskOrder, task: AgentTask): boolean {
  if (spec.type === 'Cancel' || spec.type === 'Message' || status?.state !== undefined || task.status?.finished === 'true') return false;
  const decided = task.status?.approvals?.some(({ action }) => action === spec.action) === true;
  return !decided && pendingAction(task.status) !== spec.action;
}

/** An order is about the task that was there when it was given, not about a later one of the same name. */
function isAbout({ metadata }: AgentTaskOrder, task: AgentTask): boolean {
  const owner = metadata.ownerReferences?.find(({ kind }) => kind === 'AgentTask');
  if (owner !== undefined) return owner.uid === task.metadata.uid;
  return (metadata.creationTimestamp ?? '') >= (task.metadata.creationTimestamp ?? '');
}

/** The object that an order is about, with which it goes. */
export function ownerOf({ apiVersion, kind, metadata: { name, uid = '' } }: AgentTask | ExpertPool | EnergyModel): OwnerReference {
  return { apiVersion, kind, name, uid };
}

function verdictOf(order: AgentTaskOrder, task: AgentTask | undefined): Verdict {
  const { state, message = '' } = order.status ?? {};
  // The record of the task takes precedence over the state of the order, which may have been decided before the act was seen.
  if (task !== undefined && decidedBy(order, task))
    return { state: 'Done', message: `${order.spec.type === 'Answer' ? 'the question' : 'the act'} is ${decisions[order.spec.type]}` };
  if (state === 'Done' || state === 'Refused') return { state, message };
  if (task === undefined) {
    return {
      state: 'Refused',
      message: `there is no AgentTask ${order.spec.taskRef?.name ?? ''} that is older than this order; correct spec.taskRef.name in another order`,
    };
  }
  if (order.spec.type === 'Message') return toModel(order, task);
  return order.spec.type === 'Cancel' ? cancel(order, state, task) : answer(order, state, task);
}

const decisions = { Approve: 'approved', Reject: 'rejected', Answer: 'answered', Message: 'given', Cancel: 'cancelled' } as const;

/** Milliseconds that the operator's clock may be behind the API server's. */
const clockSkewMs = 5_000;

/** Reports whether the task records that this very order decided; an order of the same name may have been there before. */
function decidedBy({ metadata, spec }: AgentTaskOrder, { status }: AgentTask): boolean {
  const decision = spec.action === undefined ? undefined : decisionAbout(status?.approvals ?? [], spec.action);
  return (
    decision?.orderRef?.name === metadata.name &&
    decision.requester === spec.requester &&
    Date.parse(metadata.creationTimestamp ?? decision.at) <= Date.parse(decision.at) + clockSkewMs &&
    decisions[spec.type] === decision.decision.toLowerCase()
  );
}

function cancel(order: AgentTaskOrder, state: AgentTaskOrderStatus['state'], task: AgentTask): Verdict {
  const { status } = task;
  if (status?.finished !== 'true')
    return { state: 'Accepted', message: 'the task is cancelled and snapshot 0 restored, as with spec.cancel Rollback' };
  const phase = status.phase ?? 'Failed';
  if (state === undefined && !obeyed(order, task)) return { state: 'Refused', message: `the task has ended already (${phase})` };
  return { state: 'Done', message: phase === 'Cancelled' ? 'the task is cancelled' : `the task ended by itself before (${phase})` };
}

/** A message is for the model of a task that has not ended; the worker reports that it is in the conversation. */
function toModel({ metadata: { uid = '' } }: AgentTaskOrder, { status }: AgentTask): Verdict {
  if (status?.run?.messagesTaken?.includes(uid) === true) return { state: 'Done', message: 'the model has the message' };
  if (status?.finished !== 'true') return { state: 'Accepted', message: 'the model gets the message at its next step' };
  return { state: 'Refused', message: `the task ended before a model got the message (${status.phase ?? 'Failed'})` };
}

/** Reports whether the task was cancelled when the order existed already: where nothing has to be undone, it ends before the answer. */
function obeyed({ metadata }: AgentTaskOrder, { status }: AgentTask): boolean {
  const ended = findCondition(status?.conditions, 'Finished')?.lastTransitionTime ?? '';
  return status?.phase === 'Cancelled' && Date.parse(metadata.creationTimestamp ?? '') <= Date.parse(ended) + clockSkewMs;
}

/** Approve and Reject name the act, so that a decision is about the act that its requester saw. */
function answer({ spec }: AgentTaskOrder, state: AgentTaskOrderStatus['state'], { status }: AgentTask): Verdict {
  const decision = spec.action === undefined ? undefined : decisionAbout(status?.approvals ?? [], spec.action);
  if (decision !== undefined) return { state: 'Refused', message: `${whoDecided(decision)}; a decision stands` };
  const pending = pendingAction(status);
  if (pending === spec.action) {
    const types = decisiveTypes(status?.run?.pendingApproval ?? {});
    if (types.some((type) => type === spec.type)) return { state: 'Accepted', message: `${spec.type} goes to the worker` };
    const what = status?.run?.pendingApproval?.kind === 'Question' ? 'a question' : 'an act';
    return { state: 'Refused', message: `what waits is ${what}; give another order, with spec.type ${types.join(' or ')}` };
  }
  if (state === 'Accepted') return { state: 'Refused', message: 'the act stopped waiting before anything was decided about it' };
  const waits = pending === undefined ? 'nothing waits for a decision' : `the act that waits is ${pending}`;
  return { state: 'Refused', message: `${waits}; spec.action must be status.run.pendingApproval.action of the task` };
}

function whoDecided({ orderRef, requester, decision, at }: Approval): string {
  if (orderRef === undefined) return `the act was rejected at ${at}, because the time to decide was over`;
  return `${requester ?? 'somebody'} ${decision.toLowerCase()} the act before, by AgentTaskOrder ${orderRef.name} at ${at}`;
}

function pendingAction(status: AgentTask['status']): string | undefined {
  return status?.finished === 'true' ? undefined : status?.run?.pendingApproval?.action;
}

/** The status of an order with a verdict. Pure. */
export function statusOf({ status }: AgentTaskOrder, { state, message }: Verdict, now: number): AgentTaskOrderStatus {
  return {
    state,
    message,
    at: status?.state === state && status.at !== undefined ? status.at : timestamp(now),
  };
}
