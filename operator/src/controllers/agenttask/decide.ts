import { nextAttempt, settlementOf, placing, restored } from './placing.ts';
import { armsOf } from '../../revisions/arm.ts';
import {
  type Approval,
  type AgentTaskStatus,
  type Assignment,
  type OpenSandbox,
  maxWaitingMessages,
  type TaskMessage,
  type Reason,
} from '@agentfleet/protocol/api';
import { refusalOf } from './acceptance.ts';
import { awaitedAct, approvalsOf, undoing, restOf, gatedRest, decisionNote, howToAnswer } from './approvals.ts';
import { backoffUntil, type Books, type Ending, closeAttempt } from './facts/attempts.ts';
import { sandboxFinalizer } from '@agentfleet/protocol/pool';
import { leavesOpen } from './facts/closing.ts';
import {
  type Transition,
  type SandboxChoice,
  type Verdict,
  type Action,
  type Decision,
  type DesiredStatus,
  type Snapshot,
  type Facts,
  factsOf,
  holdingOf,
} from './facts/snapshot.ts';
import { spentSandbox, failedBeforeStart, endingOf, verdictOf, clockOf } from './verdict.ts';
import { canonical, hasFinalizer, isControlledBy, timestamp, findCondition, type NewEvent } from '@agentfleet/kube';
import { cappedBudget } from '../../pools/spending.ts';
import { conditionsOf, deliveredCondition, summaryOf } from './conditions.ts';
import { afterTheEnd, storagePlan, type StoragePlan } from './storage/plan.ts';
import { hasEnded } from './sandbox/state.ts';
import { timers } from './requeues.ts';
import { quotaActions } from './queue/quota.ts';
import { warmPoolOf } from '../../runtime/caches.ts';

/** Attempts and decisions of people, as the status will report them. */
export interface Records {
  readonly books: Books;
  readonly approvals: readonly Approval[];
}

/** Chooses the course. `ending` is that of the attempt that ends now; the books hold it. Pure. */
function transitionOf(facts: Facts, { books, approvals }: Records, ending: Ending | undefined, verdict: Verdict | undefined): Transition {
  const { status, spec, assignment, cancel, snapshot, gate } = facts;
  if (status.finished === 'true') return { kind: 'Ended' };
  if (verdict !== undefined) return undoing(facts, books, verdict);
  const withheld = restored(facts);
  if (withheld !== undefined) return withheld;
  const open = facts.open && ending === undefined;
  if (open && cancel === 'Stop') return { kind: 'Stop' };
  if (open && !spec.suspend && gate === undefined && assignment?.directive === 'Run') {
    const pending = awaitedAct(facts, approvals);
    return pending === undefined ? { kind: 'Run' } : { kind: 'Await', pending };
  }
  if (spec.suspend) {
    const refusal = assignment === undefined ? refusalOf(snapshot, false) : undefined;
    if (refusal !== undefined) return { kind: 'Refuse', refusal };
    const spent = facts.sandbox !== undefined && facts.sandbox.metadata.name === spentSandbox(facts, books.attempts);
    return { kind: 'Suspend', rest: spent ? 'Ending' : restOf(facts) };
  }
  if (gate !== undefined && assignment !== undefined) return { kind: 'Suspend', rest: gatedRest(facts, open, gate), gate };
  return placing(facts, books, open ? 0 : backoffUntil(books.attempts, spec, facts.now));
}

/** Shortest time between two writes that only change the place in the queue, ms. */
const positionMs = 15_000;

/**
 * Decides the next actions for a task, from the state known at one moment. `now` is wall time in ms since the epoch. Pure: no clock, no
 * random numbers, no I/O; equal inputs give equal decisions.
 */
export function decide(snapshot: Snapshot, now: number): Decision {
  const facts = factsOf(snapshot, now);
  const finished = facts.status.finished === 'true';
  const ending = finished ? undefined : endingOf(facts);
  const before: Books = { attempts: facts.status.attempts ?? [], totals: facts.status.totals };
  const books = ending === undefined ? before : closed(facts, ending);
  const approvals = approvalsOf(facts);
  const transition = transitionOf(facts, { books, approvals }, ending, finished ? undefined : verdictOf(facts, books, ending));
  const storage = storagePlan(facts, transition);
  const status = coarse(facts, {
    ...statusOf(facts, { books, transition, storage }),
    ...(approvals.length === 0 ? {} : { approvals: [...approvals] }),
    ...waitingMessages(facts, transition),
  });
  const brief = transition.kind === 'Wait' && transition.brief === true;
  return {
    actions: [
      ...actionsOf(facts, transition, status),
      ...storage.actions,
      ...quotaActions(snapshot.quota, holdingOf(facts, transition, facts.open && ending === undefined)),
    ],
    status,
    written: !brief && !isWritten(facts.status, status),
    events: brief ? [] : milestones(facts, transition, ending, status),
    requeueAfterMs: timers(facts, transition, status, storage.againMs),
    takes: takesOf(transition),
  };
}

function closed(facts: Facts, ending: Ending): Books {
  const { status, spec, now } = facts;
  return closeAttempt(status, spec, ending, { now, started: !failedBeforeStart(facts, ending) });
}

/** Parts of a decision. */
interface Parts {
  readonly books: Books;
  readonly transition: Transition;
  readonly storage: StoragePlan;
}

function statusOf(facts: Facts, { books, transition, storage }: Parts): DesiredStatus {
  const { task } = facts;
  const { attempts, totals } = books;
  const assignment = assignmentOf(facts, transition, books);
  const summary = summaryOf(facts, transition, assignment, storage.conditionValue);
  const clock = clockOf(facts, transition);
  const open = openSandbox(facts, transition, assignment);
  return {
    observedGeneration: task.metadata.generation ?? 0,
    phase: summary.phase,
    finished: transition.kind === 'End' || transition.kind === 'Ended' ? 'true' : 'false',
    conditions: conditionsOf(facts, transition, { summary, assignment, storage: storage.conditionValue }),
    ...queueOf(facts, transition),
    ...(clock === undefined ? {} : { clock }),
    ...(assignment === undefined ? {} : { assignment }),
    ...(open === undefined ? {} : { sandbox: open }),
    ...(attempts.length === 0 ? {} : { attempts: [...attempts] }),
    ...(totals === undefined ? {} : { totals }),
    ...(storage.held === undefined ? {} : { storage: storage.held }),
  };
}

/** The assignment stays to the end, because it holds the epoch; every other worker, sandbox or attempt raises that. */
function assignmentOf(facts: Facts, transition: Transition, books: Books): Assignment | undefined {
  const { now } = facts;
  if (transition.kind === 'Bind') return bound(facts, transition, books);
  if (facts.assignment === undefined || transition.kind === 'End' || transition.kind === 'Ended') return facts.assignment;
  const assignment = { ...facts.assignment, ...answeredAt(facts) };
  if (transition.kind === 'Run' || transition.kind === 'Await') return { ...assignment, directive: 'Run' };
  if (transition.kind === 'Stop') return { ...assignment, directive: 'Stop' };
  if (transition.kind !== 'Rollback') return { ...assignment, directive: 'Quiesce' };
  const { worker } = transition;
  if (worker === undefined) return { ...assignment, directive: 'Rollback' };
  const taken = { epoch: assignment.epoch + 1, worker: worker.name, workerNamespace: worker.namespace, since: timestamp(now) };
  return { ...assignment, ...taken, directive: 'Rollback' };
}

/** Returns the time at which the sandbox of the assignment answered for the first time. */
function answeredAt({ assignment, answered, now }: Facts): Pick<Assignment, 'sandboxReadyAt'> {
  return answered ? { sandboxReadyAt: assignment?.sandboxReadyAt ?? timestamp(now) } : {};
}

/** The same for the sandbox of a new assignment. */
function choiceAnsweredAt(facts: Facts, { kind, name }: SandboxChoice): Pick<Assignment, 'sandboxReadyAt'> {
  if (kind === 'Held' && name === facts.assignment?.sandbox) return answeredAt(facts);
  const answers = kind === 'Claim' || (kind === 'Held' && facts.sandboxIs?.ready === true);
  return answers ? { sandboxReadyAt: timestamp(facts.now) } : {};
}

function bound(facts: Facts, { worker, sandbox }: Extract<Transition, { kind: 'Bind' }>, books: Books): Assignment {
  const { assignment, now } = facts;
  const { resolution, judges } = facts.snapshot;
  const budget = resolution.pool === undefined ? undefined : cappedBudget(facts.task, resolution.pool);
  const attempt = nextAttempt(facts, books);
  return {
    attempt,
    epoch: (assignment?.epoch ?? 0) + 1,
    worker: worker.name,
    workerNamespace: worker.namespace,
    sandbox: sandbox.name,
    warm: sandbox.kind === 'Claim' || (sandbox.kind === 'Held' && facts.sandbox !== undefined && warmPoolOf(facts.sandbox) !== undefined),
    // An attempt that goes on after a pause began when it was first assigned.
    since: assignment?.attempt === attempt ? assignment.since : timestamp(now),
    ...choiceAnsweredAt(facts, sandbox),
    directive: 'Run',
    ...(budget === undefined ? {} : { budget }),
    ...armsOf(facts.task.metadata.uid ?? '', assignment, resolution.pool?.status?.rollout, judges),
  };
}

/** The place in the queue, and since when the task waits there. */
function queueOf({ status, now }: Facts, transition: Transition): Pick<DesiredStatus, 'queue'> {
  if (transition.kind !== 'Wait' || transition.queued !== true) return {};
  const { position } = transition;
  return { queue: { ...(position === undefined ? {} : { position }), since: status.queue?.since ?? timestamp(now) } };
}

/**
 * The sandbox as its worker may reach it. Once reported it stays until the pod is lost: a container that restarts is no loss.
 * Workers read no pods, so that one of them learns nothing of what else is in the namespace.
 */
function openSandbox(facts: Facts, transition: Transition, assignment: Assignment | undefined): OpenSandbox | undefined {
  if (assignment === undefined || transition.kind === 'End' || transition.kind === 'Ended') return undefined;
  const claimed = transition.kind === 'Bind' && transition.sandbox.kind === 'Claim' ? transition.sandbox.pod : undefined;
  const pod = claimed ?? facts.sandbox;
  const { name, uid = '' } = pod?.metadata ?? {};
  if (name === undefined || name !== assignment.sandbox) return undefined;
  if (facts.status.sandbox?.uid === uid) return facts.status.sandbox;
  const address = pod?.status?.podIP;
  const ready = claimed !== undefined || facts.sandboxIs?.ready === true;
  return ready && address !== undefined && address !== '' ? { uid, address } : undefined;
}

/** Reports whether the cached status is the desired one; the fields that the worker owns are left out. */
function isWritten(cached: AgentTaskStatus | undefined, desired: DesiredStatus): boolean {
  const { run: _, ...own } = cached ?? {};
  return canonical(inOneOrder(own)) === canonical(inOneOrder(desired));
}

/** The API server keeps conditions in an order of its own. */
function inOneOrder<T extends Pick<DesiredStatus, 'conditions'>>(status: T): T {
  if (status.conditions === undefined) return status;
  return { ...status, conditions: status.conditions.toSorted((a, b) => (a.type < b.type ? -1 : 1)) };
}

/**
 * A place in the queue alone is worth a write only now and then, and only when it is another one by an eighth: with every
 * task that ends all others move up.
 */
function coarse({ status, snapshot }: Facts, desired: DesiredStatus): DesiredStatus {
  const [reported, is] = [status.queue?.position, desired.queue?.position];
  if (reported === undefined || is === undefined) return desired;
  if (snapshot.sinceWriteMs >= positionMs && Math.abs(reported - is) * 8 >= reported) return desired;
  const same = { ...desired, queue: { ...desired.queue, position: reported } };
  return isWritten(status, same) ? same : desired;
}

function takesOf(transition: Transition): Decision['takes'] {
  if (transition.kind !== 'Bind') return undefined;
  const { worker, sandbox } = transition;
  return {
    worker: worker.name,
    workerNamespace: worker.namespace,
    sandbox: sandbox.kind === 'Claim' ? sandbox.pod.metadata.uid : undefined,
  };
}

function gettingSandbox(choice: SandboxChoice): readonly Action[] {
  if (choice.kind === 'Held') return [];
  if (choice.kind === 'Claim') return [{ type: 'claimSandbox', pod: choice.pod }];
  const { name, claim } = choice;
  return [{ type: 'createSandbox', name, ...(claim === undefined ? {} : { claim }) }];
}

/** In the order in which they are safe; the status is written between what is made and what is deleted. */
function actionsOf(facts: Facts, transition: Transition, status: DesiredStatus): readonly Action[] {
  const { snapshot, task, now, sandbox } = facts;
  const actions: Action[] = [];
  for (const pod of snapshot.pods)
    if (hasFinalizer(pod, sandboxFinalizer) && hasEnded(pod, now)) actions.push({ type: 'releaseSandbox', pod });
  if (transition.kind === 'Bind') {
    if (transition.held !== undefined) actions.push({ type: 'setAsideSpending', held: transition.held });
    actions.push(...gettingSandbox(transition.sandbox));
  }
  actions.push(...settlementOf(facts, transition, status));
  const { keepSandbox, deleteTask } = afterTheEnd(facts, status);
  const spent = spentSandbox(facts, status.attempts ?? []);
  // A suspended task gives its pod back when what it needs is stored.
  const givesBack = transition.kind === 'Suspend' && transition.rest === 'Ending';
  for (const pod of snapshot.pods) {
    if (!isControlledBy(pod, task) || pod.metadata.deletionTimestamp !== undefined) continue;
    const used = pod.metadata.name === sandbox?.metadata.name && pod.metadata.name !== spent;
    const kept = used && keepSandbox && !givesBack;
    if (!kept) actions.push({ type: 'deleteSandbox', pod });
  }
  if (deleteTask) actions.push({ type: 'deleteTask' });
  else if (status.finished === 'true' && leavesOpen(facts)) actions.push({ type: 'closeRun' });
  return actions;
}

/**
 * The messages that the model has not got yet, oldest first: what waits already, then orders as far as there is room. A
 * message leaves when the worker reports its id, under whichever epoch; a task that has ended has none. Pure.
 */
function waitingMessages({ status, snapshot }: Facts, transition: Transition): Pick<DesiredStatus, 'messages'> {
  if (transition.kind === 'End' || transition.kind === 'Ended') return {};
  const taken = new Set(status.run?.messagesTaken);
  const waiting = (status.messages ?? []).filter(({ id }) => !taken.has(id));
  const known = new Set([...taken, ...waiting.map(({ id }) => id)]);
  const fresh = snapshot.messages.flatMap(({ metadata: { uid = '' }, spec: { requester, message = '', snapshot } }): TaskMessage[] =>
    known.has(uid) ? [] : [{ id: uid, requester, text: message, ...(snapshot !== undefined && { snapshot }) }],
  );
  const messages = [...waiting, ...fresh].slice(0, maxWaitingMessages);
  return messages.length === 0 ? {} : { messages };
}

const normal = (reason: Reason, action: string, note: string): NewEvent => ({ type: 'Normal', reason, action, note });

const warning = (reason: Reason, action: string, note: string): NewEvent => ({ type: 'Warning', reason, action, note });

/** Events to record when the status is written: transitions only, at most one of each kind. */
function milestones(facts: Facts, transition: Transition, ending: Ending | undefined, next: DesiredStatus): readonly NewEvent[] {
  const { assignment, status } = facts;
  const events: NewEvent[] = [];
  if (ending?.result === 'Failed') {
    const note = `attempt ${assignment?.attempt ?? 0}: ${ending.class ?? ''} (${ending.reason}): ${ending.message}`;
    events.push(warning('AttemptFailed', 'Run', note));
  }
  events.push(...decided(facts, next));
  const phase = status.phase;
  switch (transition.kind) {
    case 'Bind':
      // Most tasks begin at once, and the condition Scheduled reports that: one write in four less.
      if (status.conditions !== undefined) events.push(normal('Assigned', 'Assign', assignedNote(next)));
      break;
    case 'Wait':
      if (status.conditions === undefined) events.push(normal('Accepted', 'Queue', `waits: ${transition.message}`));
      break;
    case 'Refuse':
      if (findCondition(status.conditions, 'Accepted')?.reason !== transition.refusal.reason)
        events.push(warning('NotAccepted', 'Accept', transition.refusal.message));
      break;
    case 'Suspend':
      if (transition.gate !== undefined) {
        if (phase !== 'Queued') events.push(warning(transition.gate.reason, 'Stop', transition.gate.message));
      } else if (phase !== undefined && phase !== 'Suspended') events.push(normal('Suspended', 'Suspend', 'spec.suspend is true'));
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

function assignedNote({ assignment }: DesiredStatus): string {
  if (assignment === undefined) return '';
  const { attempt, workerNamespace, worker, sandbox } = assignment;
  return `attempt ${attempt} to worker ${workerNamespace}/${worker} in sandbox ${sandbox}`;
}

function ended(facts: Facts, transition: Extract<Transition, { kind: 'End' }>): readonly NewEvent[] {
  const { snapshot, spec } = facts;
  const { verdict, undone } = transition;
  const events: NewEvent[] = [];
  const delivered = deliveredCondition(facts, transition);
  if (delivered?.status === 'False') events.push(warning('DeliveryFailed', 'Deliver', delivered.message));
  if (delivered?.status === 'True') events.push(normal('Delivered', 'Deliver', delivered.message));
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
