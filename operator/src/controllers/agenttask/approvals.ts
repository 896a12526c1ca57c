import { findCondition, timestamp } from '@agentfleet/kube';
import { maxShownApprovals, type AgentTask, type AgentTaskOrder, type Approval, type Reason } from '@agentfleet/protocol/api';
import type { PendingApproval, Transition, Undone, Verdict, Facts, Rest } from './facts/snapshot.ts';
import type { Books } from './facts/attempts.ts';
import { neverStarted } from './verdict.ts';
import { rescuer } from './placing.ts';
import type { Gate } from './queue/quota.ts';

/** Returns the decision about an act; the newest one counts. */
export function decisionAbout(approvals: readonly Approval[], action: string): Approval | undefined {
  return approvals.findLast((approval) => approval.action === action);
}

/**
 * Returns all decisions about acts of the task, with the one that falls now. A person decides about the act of the last report, whichever
 * worker will do it: the decision holds in later epochs. Time decides only while a worker waits, because the next one that comes to the act
 * asks for as long as the first. Pure.
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

/** Returns the text for a person who has to decide. */
export function howToAnswer({ metadata }: Pick<AgentTask, 'metadata'>, { action, kind, summary, expires }: PendingApproval): string {
  const where = `${metadata.name} -n ${metadata.namespace ?? ''}`;
  if (kind === 'Question')
    return `${summary}; answer with "kubectl fleet answer ${where} <text>"; without an answer the task goes on at ${expires}`;
  // So much of the digest as `fleet` takes: who follows this decides about this act, whatever waits by then.
  const meant = `${where} --action ${action.replace('sha256:', '').slice(0, 16)}`;
  return `${summary}; answer with "kubectl fleet approve ${meant}" or "kubectl fleet reject ${meant}"; rejected by itself at ${expires}`;
}

/** A decision in words. */
export function decisionNote({ action, decision, orderRef, requester }: Approval): string {
  if (orderRef === undefined) return `the time was over before anybody decided about act ${action}`;
  return `${requester ?? 'somebody'} ${decision.toLowerCase()} ${decision === 'Answered' ? 'question' : 'act'} ${action} by AgentTaskOrder ${orderRef.name}`;
}

/** Ms in which a worker has to be found that restores. */
const noWorkerMs = 120_000;

/** Ms in which a live worker has to have restored; large trees take minutes. */
export const restoreMs = 900_000;

/** Decides the remaining steps once the verdict is given. */
export function undoing(facts: Facts, books: Books, verdict: Verdict): Transition {
  const undone = nothingBegan(facts, books) ?? settled(facts, verdict);
  if (undone !== 'Pending') return { kind: 'End', verdict, undone };
  const { snapshot, now, assignment } = facts;
  // Not from the end of the last attempt: the task may have waited for the next one for hours.
  const given = findCondition(facts.status.conditions, 'Succeeded');
  const givenAt = given === undefined || given.status === 'Unknown' ? now : Date.parse(given.lastTransitionTime);
  const since = Math.max(givenAt, Date.parse(assignment?.since ?? ''));
  const alive = snapshot.assigned !== undefined && snapshot.assigned.lost === undefined;
  const worker = alive ? undefined : rescuer(snapshot);
  const untilMs = (worker === undefined ? since : now) + (alive || worker !== undefined ? restoreMs : noWorkerMs);
  if (now < untilMs) return { kind: 'Rollback', verdict, untilMs, ...(worker === undefined ? {} : { worker }) };
  const message = `no worker restored the tree within ${(alive ? restoreMs : noWorkerMs) / 1000} s; the sandbox was deleted with all that was changed in it`;
  return { kind: 'End', verdict, undone: { status: 'True', reason: 'Discarded', message } };
}

/** No attempt came to where something could be changed: there is nothing to undo or to keep. */
function nothingBegan({ assignment }: Facts, { attempts }: Books): Undone | undefined {
  const ended = attempts.length > 0 && attempts.at(-1)?.number === assignment?.attempt;
  return ended && neverStarted(attempts) ? discarded('no sandbox came to work, so nothing was changed') : undefined;
}

/** Returns the state of the changes, as known without asking a worker; undefined where there is nothing to report. */
function settled(facts: Facts, verdict: Verdict): Undone | undefined | 'Pending' {
  const { assignment, cancel, sandbox, sandboxLoss } = facts;
  if (verdict.result === 'Succeeded' || assignment === undefined) return undefined;
  if (cancel === 'Terminate') return discarded('the sandbox was deleted at once, with all that was changed in it');
  const kept = keeps(facts, verdict);
  if (kept !== undefined) return kept;
  if (sandbox === undefined || sandboxLoss !== undefined) return discarded(`${whyGone(facts)}; all that was changed in it went with it`);
  if (untouched(facts)) return discarded('the sandbox was deleted before anything was changed in it');
  if (facts.assignment?.directive === 'Rollback' && facts.run?.rollback === undefined && facts.run?.outcome?.reason === 'RollbackFailed') {
    return discarded(
      `nothing could be restored (${facts.run.outcome.message ?? 'no snapshot'}); the sandbox was deleted with all that was changed in it`,
    );
  }
  return restored(facts) ?? 'Pending';
}

/** A suspended task gave its sandbox back; every other one lost it. */
function whyGone({ spec, atRest, sandboxLoss }: Facts): string {
  return atRest && spec.suspend ? 'the sandbox was deleted when the task was suspended' : (sandboxLoss ?? 'there is no sandbox');
}

function discarded(message: string): Undone {
  return { status: 'True', reason: 'Discarded', message };
}

function keeps(facts: Facts, verdict: Verdict): Undone | undefined {
  const { cancel, spec, sandbox, atRest } = facts;
  const stopped = verdict.result === 'Cancelled' && cancel === 'Stop';
  const wanted = verdict.result === 'Failed' && spec.rollback.whenFailed === 'Keep';
  if (!stopped && !wanted) return undefined;
  const why = stopped ? 'spec.cancel is Stop' : 'spec.rollback.whenFailed is Keep';
  const tree =
    sandbox === undefined && atRest
      ? `the sandbox was deleted when the task was suspended${storedAt(facts)}`
      : 'the tree stays as the agent left it, for as long as the sandbox does (spec.retention.sandboxSeconds, 900 s where it is 0)';
  return { status: 'False', reason: 'Kept', message: `${why}: ${tree}` };
}

/** No worker could reach it, or none came to the first snapshot. */
function untouched({ status, sandboxIs }: Facts): boolean {
  return sandboxIs?.ready !== true && status.run?.snapshots?.initial === undefined;
}

/** A report from before the directive is about an attempt's own restore, not about this one. */
function restored({ run, assignment, sandbox }: Facts): Undone | undefined {
  const report = run?.rollback;
  if (report === undefined || assignment?.directive !== 'Rollback') return undefined;
  const { snapshot: id, verified } = report;
  const lasting = report.irreversible?.length ?? 0;
  const rest = lasting === 0 ? '' : `; ${lasting} effects could not be undone, see status.run.rollback.irreversible`;
  if (verified) return { status: 'True', reason: 'Restored', message: `snapshot ${id} is restored and its hash verified${rest}` };
  const where = `sandbox pod ${sandbox?.metadata.name ?? ''}`;
  const message = `snapshot ${id} was restored, but the tree does not have its hash; the ${where} is kept for inspection until the task is deleted${rest}`;
  return { status: 'False', reason: 'NotVerified', message };
}

/** Returns the `Rest` of a task: its sandbox is given back only on a report of the worker that works under the present epoch. Pure. */
export function restOf({ snapshot, sandbox, atRest }: Facts): Rest {
  if (sandbox === undefined) return snapshot.pods.length === 0 ? 'NoSandbox' : 'Ending';
  if (atRest) return 'Ending';
  return snapshot.assigned?.lost === undefined ? 'Quiescing' : 'Kept';
}

/** Longest time for which a worker may store what an evicted task has, ms: its quota belongs to another workload already. */
export const evictionMs = 300_000;

/** Returns the time until which the sandbox of an evicted task stays without the worker's report, in ms since the epoch. Pure. */
export function evictedUntil({ status, assignment }: Facts, { sinceMs }: Gate): number {
  return (sinceMs ?? Date.parse(status.clock?.pausedAt ?? assignment?.since ?? '')) + evictionMs;
}

/** Returns the `Rest` of an evicted task, which gives its sandbox back in any case: unstored data is lost then, its log is not. Pure. */
export function gatedRest(facts: Facts, open: boolean, gate: Gate): Rest {
  const rest = restOf(facts);
  const over = rest === 'Kept' || (rest === 'Quiescing' && (!open || facts.now >= evictedUntil(facts, gate)));
  return over ? 'Ending' : rest;
}

/** Returns the reason for the state of a suspended task, for programs and for people. */
export function suspendedBecause(facts: Facts, rest: Rest, gate?: Gate): { readonly reason: Reason; readonly message: string } {
  const sandbox = facts.sandbox?.metadata.name ?? '';
  const words: Readonly<Record<Rest, readonly [Reason, string]>> = {
    NoSandbox: ['Suspended', `no sandbox is held${storedAt(facts)}`],
    Ending: ['SandboxEnding', `the sandbox is being deleted${storedAt(facts)}`],
    Quiescing: ['Quiescing', `sandbox ${sandbox} stays until the worker reports that all is stored`],
    Kept: [
      'SandboxKept',
      `sandbox ${sandbox} stays, because nobody reported that all is stored (${facts.snapshot.assigned?.lost ?? 'there is no worker'})`,
    ],
  };
  const [reason, what] = words[rest];
  if (gate !== undefined) return { reason: gate.reason, message: `${gate.message}: ${what}; no clock runs` };
  return { reason, message: `spec.suspend is true: ${what}; nothing is done and no clock runs; set it to false to go on` };
}

/** Returns the known place at which a task at rest is stored, as the end of a sentence. */
function storedAt({ atRest, status }: Pick<Facts, 'atRest' | 'status'>): string {
  const uri = status.run?.snapshots?.checkpointURI;
  return atRest && uri !== undefined ? `, the checkpoint is ${uri}` : '';
}
