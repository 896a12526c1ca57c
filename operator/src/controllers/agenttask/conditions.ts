import { findCondition, mergeConditions, type NewCondition } from '@agentfleet/kube';
import type { AgentTaskStatus, Condition, Phase } from '@agentfleet/protocol/api';
import { nameOf } from './acceptance.ts';
import { howToAnswer } from './approvals.ts';
import type { Course, Rest, Undone } from './course.ts';
import type { Facts } from './facts.ts';
import { networkOpened, openedMessage } from './openings.ts';
import { staySeconds } from './storage.ts';
import { suspendedBecause } from './suspension.ts';
import type { Verdict } from './verdict.ts';

type Status = Condition['status'];

/** One sentence of state for programs and people. */
interface Word {
  readonly status: Status;
  readonly reason: string;
  readonly message: string;
}

const word = (status: Status, reason: string, message: string): Word => ({ status, reason, message });

/** What the task is about now, in one line for the printer column. */
export interface Story {
  readonly phase: Phase;
  readonly reason: string;
  readonly message: string;
  /** Nothing but a change from outside can help. */
  readonly stalled: boolean;
}

const longestMessage = 1024;

/** The condition about the volume of a sandbox with storage. */
const storageReady = 'StorageReady';

function cut(text: string): string {
  return text.length <= longestMessage ? text : `${text.slice(0, longestMessage - 1).toWellFormed()}…`;
}

/** Tells where the task is. `assignment` is the one that the decision sets. */
export function storyOf(facts: Facts, course: Course, assignment: AgentTaskStatus['assignment'], storage?: Word): Story {
  const tell = (phase: Phase, reason: string, message: string, stalled = false): Story => ({ phase, reason, message, stalled });
  switch (course.kind) {
    case 'Ended':
      return tell(facts.status.phase ?? 'Failed', 'Finished', '');
    case 'End':
      return tell(course.verdict.result, course.verdict.reason, ended(course), course.verdict.result !== 'Succeeded');
    case 'Refuse':
      return tell('Pending', course.refusal.reason, course.refusal.message, course.refusal.stalled);
    case 'Wait':
      return tell('Queued', course.because?.reason ?? course.reason, course.message);
    case 'Suspend':
      return tell('Suspended', 'Suspended', suspendedBecause(facts, course.rest).message);
    case 'Await':
      return tell('AwaitingApproval', 'AwaitingApproval', howToAnswer(facts.task, course.pending));
    case 'Stop':
      return tell('Running', 'Stopping', 'spec.cancel is Stop: the worker ends its current step');
    case 'Rollback':
      return tell('RollingBack', 'RollingBack', `${course.verdict.message}; what was changed is being undone`);
    case 'Bind':
    case 'Run':
      break;
  }
  return working(facts, course, assignment, storage);
}

function ended({ verdict, undone }: { readonly verdict: Verdict; readonly undone: Undone | undefined }): string {
  return undone === undefined ? verdict.message : `${verdict.message}; ${undone.message}`;
}

function working(facts: Facts, course: Course, assignment: AgentTaskStatus['assignment'], storage: Word | undefined): Story {
  const attempt = `attempt ${assignment?.attempt ?? 1}`;
  const who = `worker ${assignment?.worker ?? ''} in sandbox ${assignment?.sandbox ?? ''}`;
  const ready = sandboxWord(facts, course).status === 'True';
  if (ready && verifies(facts, assignment)) {
    return {
      phase: 'Verifying',
      reason: 'Verifying',
      message: `${attempt}: all checks run once more in a fresh container`,
      stalled: false,
    };
  }
  if (ready) return { phase: 'Running', reason: 'Running', message: `${attempt} is run by ${who}`, stalled: false };
  const { reason, message } = sandboxWord(facts, course);
  const waits = storage?.status === 'False' || reason === 'Starting' || reason === 'NoSandbox';
  return {
    phase: 'Preparing',
    reason: waits ? 'Preparing' : reason,
    message: `${attempt} waits for its sandbox: ${storage?.status === 'False' ? storage.message : message}`,
    stalled: false,
  };
}

/** Whether the worker is past the last edit: its plan says so by the node `verify`. */
function verifies({ status: { run } }: Facts, assignment: AgentTaskStatus['assignment']): boolean {
  return (
    run?.epoch === assignment?.epoch &&
    run?.plan?.some(({ id, state }) => id === 'verify' && (state === 'Running' || state === 'Done')) === true
  );
}

/** What conditions tell besides the course. */
interface Told {
  readonly story: Story;
  readonly assignment: AgentTaskStatus['assignment'];
  /** Undefined: what was said of the volume stays. */
  readonly storage: Word | undefined;
}

/** All conditions after a decision, with the transition times of those that stay as they are. */
export function conditionsOf(facts: Facts, course: Course, { story, assignment, storage }: Told): Condition[] {
  const { status, task, now } = facts;
  const observedGeneration = task.metadata.generation ?? 0;
  const old = status.conditions;
  if (course.kind === 'Ended') return afterwards(old ?? [], storage, observedGeneration, now);
  const words: Readonly<Record<string, Word | undefined>> = {
    Ready: readyWord(course, story),
    Accepted: acceptedWord(facts, course),
    Scheduled: scheduledWord(facts, course, assignment),
    SandboxReady: sandboxWord(facts, course),
    StorageReady: storage ?? findCondition(old, storageReady),
    Succeeded: succeededWord(course, story),
    Finished:
      course.kind === 'End' ? word('True', story.reason, 'the task has ended') : word('False', story.reason, 'the task has not ended'),
    RolledBack: course.kind === 'End' ? course.undone : undefined,
    [networkOpened]: openedWord(facts),
    Suspended: course.kind === 'Suspend' ? suspendedWord(facts, course.rest) : undefined,
    AwaitingApproval: course.kind === 'Await' ? word('True', 'AwaitingApproval', story.message) : undefined,
    Reconciling: !story.stalled && course.kind !== 'End' ? word('True', story.reason, story.message) : undefined,
    Stalled: story.stalled ? word('True', story.reason, story.message) : undefined,
  };
  const desired: NewCondition[] = Object.entries(words).flatMap(([type, said]) =>
    said === undefined ? [] : [toCondition(type, said, observedGeneration)],
  );
  return [...mergeConditions(old, desired, now)] as Condition[];
}

/** After the end only the volume may change. */
function afterwards(old: readonly Condition[], storage: Word | undefined, observedGeneration: number, now: number): Condition[] {
  const kept: readonly NewCondition[] = old
    .filter(({ type }) => storage === undefined || type !== storageReady)
    .map((condition) => ({ ...condition, observedGeneration }));
  const told = storage === undefined ? [] : [toCondition(storageReady, storage, observedGeneration)];
  return [...mergeConditions(old, [...kept, ...told], now)] as Condition[];
}

function toCondition(type: string, { status, reason, message }: Word, observedGeneration: number): NewCondition {
  return { type, status, reason, message: cut(message), observedGeneration };
}

function readyWord(course: Course, { reason, message, stalled }: Story): Word {
  if (course.kind === 'End' && course.verdict.result === 'Succeeded') return word('True', 'Succeeded', message);
  return word(stalled ? 'False' : 'Unknown', reason, message);
}

function acceptedWord({ snapshot, status }: Facts, course: Course): Word {
  if (course.kind === 'Refuse') return word('False', course.refusal.reason, course.refusal.message);
  const { pool } = snapshot.resolution;
  const known = findCondition(status.conditions, 'Accepted');
  if (course.kind === 'End' && known === undefined) return word('False', 'Cancelled', 'the task ended before a pool took it');
  // What runs keeps what it started with, although its pool may have changed or gone since.
  if (pool === undefined) return known ?? word('True', 'Accepted', 'a pool took the task');
  return course.kind === 'End' && known !== undefined ? known : word('True', 'Accepted', `ExpertPool ${nameOf(pool)} takes the task`);
}

/** Present only while it is so. */
function openedWord({ snapshot: { task, openings } }: Facts): Word | undefined {
  return openings.length === 0 ? undefined : word('True', 'NetworkPolicyAdds', openedMessage(task, openings));
}

function scheduledWord({ snapshot, status }: Facts, course: Course, assignment: AgentTaskStatus['assignment']): Word {
  if (course.kind === 'Refuse') return word('False', 'NotAccepted', 'no pool takes the task, see the condition Accepted');
  if (course.kind === 'Wait') return word('False', course.reason, course.message);
  if (course.kind === 'Suspend') return word('False', 'Suspended', 'a suspended task holds no slot');
  if (course.kind === 'Rollback' && course.worker === undefined && snapshot.assigned?.lost !== undefined) {
    return word('False', 'NoWorkerReady', `the rollback waits for a worker: ${snapshot.assigned.lost}`);
  }
  if (course.kind === 'End') {
    return findCondition(status.conditions, 'Scheduled') ?? word('False', 'Finished', 'the task ended before it began');
  }
  return word('True', 'Assigned', `worker ${assignment?.workerNamespace ?? ''}/${assignment?.worker ?? ''} has the task`);
}

function suspendedWord(facts: Facts, rest: Rest): Word {
  const { reason, message } = suspendedBecause(facts, rest);
  return word('True', reason, message);
}

function sandboxWord(facts: Facts, course: Course): Word {
  const { sandboxIs, sandbox } = facts;
  if (course.kind === 'End') {
    if (sandbox === undefined || course.undone?.reason === 'Discarded')
      return word('False', 'Finished', 'the task has no sandbox any more');
    const seconds = staySeconds(facts, course.undone?.reason === 'Kept');
    const stays = seconds === 0 ? 'the sandbox is deleted' : `the sandbox stays for ${seconds} s after the end`;
    return word('False', 'Finished', course.undone?.reason === 'NotVerified' ? 'the sandbox is kept for inspection' : stays);
  }
  if (course.kind === 'Wait' && course.because !== undefined) return word('False', course.because.reason, course.because.message);
  if (course.kind === 'Bind' && course.sandbox.kind === 'Create') return word('False', 'Starting', `pod ${course.sandbox.name} starts`);
  if (course.kind === 'Bind' && course.sandbox.kind === 'Claim') return word('True', 'Ready', `pod ${course.sandbox.name} answers`);
  if (sandboxIs === undefined) {
    return course.kind === 'Suspend'
      ? word('False', 'Suspended', 'a suspended task holds no sandbox')
      : word('False', 'NoSandbox', 'there is no sandbox');
  }
  // The kubelet tells of a pull that fails and of the pause before the next one in turns; one of them is told.
  const known = findCondition(facts.status.conditions, 'SandboxReady');
  const same = sandboxIs.reason === 'ImagePullBackOff' && known?.reason === sandboxIs.reason;
  if (same && known.message.includes(sandbox?.metadata.name ?? '')) return known;
  return word(sandboxIs.ready ? 'True' : 'False', sandboxIs.reason, sandboxIs.message);
}

/** The verdict is here as soon as it is given, also while the rollback goes on. */
function succeededWord(course: Course, { reason }: Story): Word {
  if (course.kind !== 'End' && course.kind !== 'Rollback') return word('Unknown', reason, 'the task has not been judged');
  const { result, reason: why, message } = course.verdict;
  return word(result === 'Succeeded' ? 'True' : 'False', why, message);
}
