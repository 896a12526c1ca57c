import type { ConditionValue } from '../../runtime/resources.ts';
import { conditionsFor, keyOf, findCondition } from '@agentfleet/kube';
import { passedOn, type AgentTaskStatus, type Condition, type Phase, type Reason, type ConditionType } from '@agentfleet/protocol/api';
import { howToAnswer, suspendedBecause } from './approvals.ts';
import { conditionValue, type Transition, type Undone, type Verdict, type Facts } from './facts/snapshot.ts';
import { networkOpened, openedMessage } from './sandbox/state.ts';
import { withCure } from './verdict.ts';
import { staySeconds } from './storage/plan.ts';

/** Current state of the task, in one line for the printer column. */
export interface Summary {
  readonly phase: Phase;
  readonly reason: Reason;
  readonly message: string;
  /** Nothing but a change from outside can help. */
  readonly stalled: boolean;
}

const summary = (phase: Phase, reason: Reason, message: string, stalled = false): Summary => ({ phase, reason, message, stalled });

/** A condition as it was said before. */
function known(conditions: AgentTaskStatus['conditions'], type: ConditionType<'AgentTask'>): ConditionValue | undefined {
  const said = findCondition(conditions, type);
  return said === undefined ? undefined : conditionValue(said.status, passedOn(said.reason), said.message);
}

/** The condition about the volume of a sandbox with storage. */
const storageReady = 'StorageReady';

/** Returns the summary of the state of the task. `assignment` is the one that the decision sets. */
export function summaryOf(
  facts: Facts,
  transition: Transition,
  assignment: AgentTaskStatus['assignment'],
  storage?: ConditionValue,
): Summary {
  switch (transition.kind) {
    case 'Ended':
      return summary(facts.status.phase ?? 'Failed', 'Finished', '');
    case 'End':
      return summary(transition.verdict.result, transition.verdict.reason, ended(transition), transition.verdict.result !== 'Succeeded');
    case 'Refuse':
      return summary('Pending', transition.refusal.reason, transition.refusal.message, transition.refusal.stalled);
    case 'Wait':
      return summary('Queued', transition.because?.reason ?? transition.reason, waitMessage(transition));
    case 'Suspend':
      return transition.gate === undefined
        ? summary('Suspended', 'Suspended', suspendedBecause(facts, transition.rest).message)
        : summary('Queued', transition.gate.reason, suspendedBecause(facts, transition.rest, transition.gate).message);
    case 'Await':
      return summary('AwaitingApproval', 'AwaitingApproval', howToAnswer(facts.task, transition.pending));
    case 'Stop':
      return summary('Running', 'Stopping', 'spec.cancel is Stop: the worker ends its current step');
    case 'Rollback':
      return summary('RollingBack', 'RollingBack', `${transition.verdict.message}; what was changed is being undone`);
    case 'Bind':
    case 'Run':
      break;
  }
  return working(facts, transition, assignment, storage);
}

/** The wait, and why the sandbox before did not come to work: its cure is what helps. */
function waitMessage({ message, because }: Extract<Transition, { kind: 'Wait' }>): string {
  if (because === undefined || message.includes(because.message)) return message;
  return `${message}; the sandbox before did not come to work: ${because.message}`;
}

function ended({ verdict, undone }: { readonly verdict: Verdict; readonly undone: Undone | undefined }): string {
  return undone === undefined ? verdict.message : `${verdict.message}; ${undone.message}`;
}

function working(
  facts: Facts,
  transition: Transition,
  assignment: AgentTaskStatus['assignment'],
  storage: ConditionValue | undefined,
): Summary {
  const attempt = `attempt ${assignment?.attempt ?? 1}`;
  const who = `worker ${assignment?.worker ?? ''} in sandbox ${assignment?.sandbox ?? ''}`;
  const { status, reason, message } = sandboxCondition(facts, transition);
  if (status === 'True' && verifies(facts, assignment))
    return summary('Verifying', 'Verifying', `${attempt}: all checks run once more in a fresh container`);
  if (status === 'True') return summary('Running', 'Running', `${attempt} is run by ${who}`);
  const waits = storage?.status === 'False' || reason === 'Starting' || reason === 'NoSandbox';
  const why = storage?.status === 'False' ? storage.message : message;
  return summary('Preparing', waits ? 'Preparing' : reason, `${attempt} waits for its sandbox: ${why}`);
}

/** Type of the condition of tasks that an agent program works on. */
const commandsUnjudged = 'CommandsUnjudged';

/** Reports whether the worker is past the last edit, by the state of the node `verify` of its plan. */
function verifies({ status: { run } }: Facts, assignment: AgentTaskStatus['assignment']): boolean {
  return (
    run?.epoch === assignment?.epoch &&
    run?.plan?.some(({ id, state }) => id === 'verify' && (state === 'Running' || state === 'Done')) === true
  );
}

/** Facts that conditions report besides the transition. */
interface Reported {
  readonly summary: Summary;
  readonly assignment: AgentTaskStatus['assignment'];
  /** Undefined: what was said of the volume stays. */
  readonly storage: ConditionValue | undefined;
}

/** All conditions after a decision, with the transition times of those that stay as they are. */
export function conditionsOf(facts: Facts, transition: Transition, { summary, assignment, storage }: Reported): Condition[] {
  const { status, task, now } = facts;
  const old = status.conditions;
  if (transition.kind === 'Ended') {
    // After the end only the volume may change.
    const kept = (old ?? []).map((said) => [said.type, said] as const).filter(([type]) => storage === undefined || type !== storageReady);
    return conditionsFor(task, [...kept, [storageReady, storage]], now);
  }
  const words: Readonly<Record<ConditionType<'AgentTask'>, ConditionValue | undefined>> = {
    Ready: readyCondition(transition, summary),
    Accepted: acceptedCondition(facts, transition),
    Scheduled: scheduledCondition(facts, transition, assignment),
    SandboxReady: sandboxCondition(facts, transition),
    StorageReady: storage ?? known(old, storageReady),
    Succeeded: succeededCondition(transition, summary),
    Finished:
      transition.kind === 'End'
        ? conditionValue('True', summary.reason, 'the task has ended')
        : conditionValue('False', summary.reason, 'the task has not ended'),
    RolledBack: transition.kind === 'End' ? transition.undone : undefined,
    Delivered: deliveredCondition(facts, transition),
    [networkOpened]: openedCondition(facts),
    [commandsUnjudged]: unjudgedCondition(facts),
    Suspended:
      transition.kind === 'Suspend' && transition.gate === undefined
        ? { status: 'True', ...suspendedBecause(facts, transition.rest) }
        : undefined,
    AwaitingApproval: transition.kind === 'Await' ? conditionValue('True', 'AwaitingApproval', summary.message) : undefined,
    Reconciling: !summary.stalled && transition.kind !== 'End' ? conditionValue('True', summary.reason, summary.message) : undefined,
    Stalled: summary.stalled ? conditionValue('True', summary.reason, summary.message) : undefined,
  };
  return conditionsFor(task, Object.entries(words), now);
}

function readyCondition(transition: Transition, { reason, message, stalled }: Summary): ConditionValue {
  if (transition.kind === 'End' && transition.verdict.result === 'Succeeded') return conditionValue('True', 'Succeeded', message);
  return conditionValue(stalled ? 'False' : 'Unknown', reason, message);
}

function acceptedCondition({ snapshot, status }: Facts, transition: Transition): ConditionValue {
  if (transition.kind === 'Refuse') return conditionValue('False', transition.refusal.reason, transition.refusal.message);
  const { pool } = snapshot.resolution;
  const said = known(status.conditions, 'Accepted');
  if (transition.kind === 'End' && said === undefined) return conditionValue('False', 'Cancelled', 'the task ended before a pool took it');
  // A task that runs keeps what it started with, although its pool may have changed or gone since.
  if (pool === undefined) return said ?? conditionValue('True', 'Accepted', 'a pool took the task');
  return transition.kind === 'End' && said !== undefined
    ? said
    : conditionValue('True', 'Accepted', `ExpertPool ${keyOf(pool)} takes the task`);
}

/** Present where an agent program acts by itself: nothing judges its commands before they run. */
function unjudgedCondition({ snapshot, status }: Facts): ConditionValue | undefined {
  const { pool } = snapshot.resolution;
  if (pool === undefined) return known(status.conditions, commandsUnjudged);
  const program = pool.spec.experts.find(
    ({ engine, replicas }) => engine.type === 'Harness' && engine.harness.acts !== 'Tools' && replicas > 0,
  );
  if (program === undefined) return undefined;
  const message = `expert ${program.name} of ExpertPool ${keyOf(pool)} runs commands of its own, which gate 1 does not see; what they leave in the workspace is judged after each of its runs`;
  return conditionValue('True', 'AgentProgram', message);
}

/** A result is good whatever becomes of its way out: Succeeded and Ready do not hang on it. */
export function deliveredCondition({ task, status }: Facts, transition: Transition): ConditionValue | undefined {
  if (task.spec.output === undefined || transition.kind !== 'End' || transition.verdict.result !== 'Succeeded') return undefined;
  const { output } = status.run ?? {};
  if (output === undefined)
    return conditionValue('False', 'DeliveryFailed', 'the worker did not report a delivery; use images of one release');
  const { branch, pullRequest, reason, message } = output;
  if (reason !== undefined) return conditionValue('False', passedOn(reason), message ?? reason);
  const parts = [`branch ${branch} is pushed`, ...(pullRequest === undefined ? [] : [pullRequest])];
  return conditionValue('True', 'Delivered', [parts.join(', '), ...(message === undefined ? [] : [message])].join('; '));
}

/** Present only while it is so. */
function openedCondition({ snapshot: { task, openings } }: Facts): ConditionValue | undefined {
  return openings.length === 0 ? undefined : conditionValue('True', 'NetworkPolicyAdds', openedMessage(task, openings));
}

function scheduledCondition(
  { snapshot, status }: Facts,
  transition: Transition,
  assignment: AgentTaskStatus['assignment'],
): ConditionValue {
  if (transition.kind === 'Refuse') return conditionValue('False', 'NotAccepted', 'no pool takes the task, see the condition Accepted');
  if (transition.kind === 'Wait') return conditionValue('False', transition.reason, transition.message);
  if (transition.kind === 'Suspend' && transition.gate !== undefined)
    return conditionValue('False', transition.gate.reason, transition.gate.message);
  if (transition.kind === 'Suspend') return conditionValue('False', 'Suspended', 'a suspended task holds no slot');
  if (transition.kind === 'Rollback' && transition.worker === undefined && snapshot.assigned?.lost !== undefined) {
    return conditionValue('False', 'NoWorkerReady', `the rollback waits for a worker: ${snapshot.assigned.lost}`);
  }
  if (transition.kind === 'End') {
    return known(status.conditions, 'Scheduled') ?? conditionValue('False', 'Finished', 'the task ended before it began');
  }
  return conditionValue('True', 'Assigned', `worker ${assignment?.workerNamespace ?? ''}/${assignment?.worker ?? ''} has the task`);
}

function sandboxCondition(facts: Facts, transition: Transition): ConditionValue {
  const { sandboxIs, sandbox } = facts;
  if (transition.kind === 'End') {
    if (sandbox === undefined || transition.undone?.reason === 'Discarded')
      return conditionValue('False', 'Finished', 'the task has no sandbox any more');
    const seconds = staySeconds(facts, transition.undone?.reason === 'Kept');
    const stays = seconds === 0 ? 'the sandbox is deleted' : `the sandbox stays for ${seconds} s after the end`;
    return conditionValue('False', 'Finished', transition.undone?.reason === 'NotVerified' ? 'the sandbox is kept for inspection' : stays);
  }
  if (transition.kind === 'Wait' && transition.because !== undefined)
    return conditionValue('False', transition.because.reason, transition.because.message);
  if (transition.kind === 'Bind' && transition.sandbox.kind === 'Create')
    return conditionValue('False', 'Starting', `pod ${transition.sandbox.name} starts`);
  if (transition.kind === 'Bind' && transition.sandbox.kind === 'Claim')
    return conditionValue('True', 'Ready', `pod ${transition.sandbox.name} answers`);
  if (sandboxIs === undefined) {
    return transition.kind === 'Suspend' && transition.gate === undefined
      ? conditionValue('False', 'Suspended', 'a suspended task holds no sandbox')
      : conditionValue('False', 'NoSandbox', 'there is no sandbox');
  }
  // The kubelet reports a pull that fails and the pause before the next one in turns; the condition keeps one of them.
  const said = known(facts.status.conditions, 'SandboxReady');
  const same = sandboxIs.reason === 'ImagePullBackOff' && said?.reason === sandboxIs.reason;
  if (same && said.message.includes(sandbox?.metadata.name ?? '')) return said;
  return conditionValue(sandboxIs.ready ? 'True' : 'False', sandboxIs.reason, withCure(sandboxIs));
}

/** The verdict is here as soon as it is given, also while the rollback goes on. */
function succeededCondition(transition: Transition, { reason }: Summary): ConditionValue {
  if (transition.kind !== 'End' && transition.kind !== 'Rollback') return conditionValue('Unknown', reason, 'the task has not been judged');
  const { result, reason: why, message } = transition.verdict;
  return conditionValue(result === 'Succeeded' ? 'True' : 'False', why, message);
}
