import { findCondition } from '@agentfleet/kube';
import { attemptAction, type Reason, passedOn } from '@agentfleet/protocol/api';
import { isolationFloor, meetsFloor } from './acceptance.ts';
import { cancelledReason, chargedAttempts, type Attempt, type Books, type Ending } from './attempts.ts';
import { deadlineWords } from './clock.ts';
import { queuedUntil } from './deadline.ts';
import type { Facts } from './facts.ts';
import { networkOpened, openedMessage } from './openings.ts';
import { lateStart, maxStartFailures, startFailures, startTrouble } from './start.ts';

/** What has become of the task, once and for all. */
export interface Verdict {
  readonly result: 'Succeeded' | 'Failed' | 'Cancelled';
  readonly reason: Reason;
  readonly message: string;
}

const infrastructure = (reason: Reason, message: string): Ending => ({ result: 'Failed', class: 'Infrastructure', reason, message });

/** How the open attempt has ended; undefined while it goes on. Cancellation comes first, then what the worker says. */
export function endingOf(facts: Facts): Ending | undefined {
  if (!facts.open) return undefined;
  return cancelled(facts) ?? reported(facts) ?? tooLate(facts) ?? brokenWall(facts) ?? lost(facts) ?? lateStart(facts);
}

function cancelled(facts: Facts): Ending | undefined {
  const { cancel, run, snapshot, remainingMs, sandboxLoss } = facts;
  const ending: Ending = { result: 'Cancelled', reason: cancelledReason, message: `cancelled (${cancel}) as ${by(facts)} says` };
  if (cancel === 'Rollback' || cancel === 'Terminate') return ending;
  if (cancel !== 'Stop') return undefined;
  // What was reached before the worker heard of it counts.
  if (run?.outcome !== undefined) return run.outcome.result === 'Succeeded' ? undefined : ending;
  const nobodyStops = snapshot.assigned?.lost !== undefined || sandboxLoss !== undefined || remainingMs <= 0;
  return nobodyStops ? ending : undefined;
}

function by({ snapshot, task }: Facts): string {
  return snapshot.cancelOrder === undefined || task.spec.cancel !== 'None' ? 'spec.cancel' : `AgentTaskOrder ${snapshot.cancelOrder}`;
}

function reported({ run }: Facts): Ending | undefined {
  const outcome = run?.outcome;
  if (outcome === undefined) return undefined;
  if (outcome.result === 'Succeeded')
    return { result: 'Succeeded', reason: passedOn(outcome.reason), message: outcome.message ?? 'all checks hold' };
  const message = outcome.message ?? outcome.reason;
  if (outcome.result === 'Stopped') return infrastructure('Stopped', `the worker stopped by itself: ${message}`);
  return { result: 'Failed', class: outcome.class ?? 'AgentError', reason: passedOn(outcome.reason), message };
}

function tooLate(facts: Facts): Ending | undefined {
  if (facts.remainingMs > 0) return undefined;
  return {
    result: 'Failed',
    class: 'DeadlineExceeded',
    reason: 'DeadlineExceeded',
    message: deadlineWords(facts),
  };
}

/** The worker looks at the wall before it begins; what it published is judged here too, by who owns the floor. */
function brokenWall({ run, snapshot }: Facts): Ending | undefined {
  const { pool } = snapshot.resolution;
  const wall = run?.isolation;
  const failed = (reason: Reason, message: string): Ending => ({ result: 'Failed', class: 'PolicyViolation', reason, message });
  if (snapshot.openings.length > 0 && pool?.spec.policy.allowUnenforcedNetwork === false)
    return failed(networkOpened, openedMessage(snapshot.task, snapshot.openings));
  if (wall === undefined || pool === undefined) return undefined;
  const floor = isolationFloor(snapshot, pool);
  if (!meetsFloor(wall.level, floor))
    return failed('IsolationBelowFloor', `the sandbox has isolation ${wall.level}, and ${floor} is demanded`);
  if (wall.network === 'NotEnforced' && !pool.spec.policy.allowUnenforcedNetwork) {
    return failed(
      'NetworkNotEnforced',
      'no NetworkPolicy holds in the sandbox; install a network plugin that enforces them, or allow it by spec.policy.allowUnenforcedNetwork of the pool',
    );
  }
  return undefined;
}

function lost({ sandboxIs, sandboxLoss, snapshot, atRest }: Facts): Ending | undefined {
  // What is stored is lost with neither of them: the attempt goes on in another sandbox.
  if (atRest) return undefined;
  if (sandboxLoss !== undefined) return infrastructure('SandboxLost', sandboxLoss);
  if (sandboxIs?.invalid === true) {
    return {
      result: 'Failed',
      class: 'InvalidInput',
      reason: sandboxIs.reason,
      message: `${sandboxIs.message}; correct spec.sandbox.image`,
    };
  }
  const worker = snapshot.assigned?.lost;
  return worker === undefined ? undefined : infrastructure('WorkerLost', worker);
}

/**
 * What has become of the task; undefined while more may come of it. `ending` is that of the attempt that ends now,
 * `books` hold it already. A verdict that was given before stands: the condition Succeeded keeps it.
 */
export function verdictOf(facts: Facts, books: Books, ending: Ending | undefined): Verdict | undefined {
  const { status, cancel, assignment, open } = facts;
  const given = findCondition(status.conditions, 'Succeeded');
  if (given !== undefined && given.status !== 'Unknown') {
    const result = given.status === 'True' ? 'Succeeded' : given.reason === cancelledReason ? 'Cancelled' : 'Failed';
    return { result, reason: passedOn(given.reason), message: given.message };
  }
  if (ending?.result === 'Succeeded') return { result: 'Succeeded', reason: provedBy(ending.reason), message: ending.message };
  const running = assignment !== undefined && open && ending === undefined;
  if (cancel !== 'None' && !running) {
    return { result: 'Cancelled', reason: cancelledReason, message: ending?.message ?? `cancelled (${cancel}) as ${by(facts)} says` };
  }
  return running ? undefined : failure(facts, books, ending);
}

/** The reason of the condition Succeeded: checks, unless a person or an answer is what counted. */
function provedBy(reason: Reason): Reason {
  return reason === 'ReviewAccepted' || reason === 'AnswerAccepted' ? reason : 'ChecksPassed';
}

function failure(facts: Facts, { attempts }: Books, ending: Ending | undefined): Verdict | undefined {
  const { spec, remainingMs, status } = facts;
  const last = attempts.at(-1);
  if (last?.class === undefined) return waitedTooLong(facts);
  const why = ending?.message ?? outcomeMessage(facts, last);
  const charged = chargedAttempts(attempts, spec);
  if (attemptAction(last.class, spec.attempts) === 'Fail') {
    return {
      result: 'Failed',
      reason: last.class,
      message: `attempt ${last.number} ended with ${last.reason}, after which no other follows: ${why}`,
    };
  }
  if (charged >= spec.attempts.max && attemptAction(last.class, spec.attempts) !== 'Ignore') {
    return {
      result: 'Failed',
      reason: last.class,
      message: `${charged} of ${spec.attempts.max} attempts failed, the last with ${last.reason}: ${why}`,
    };
  }
  const starts = startFailures(attempts);
  if (starts >= maxStartFailures) {
    const message = `${starts} attempts in a row failed before anything was begun, the last with ${last.reason}: ${why}`;
    return { result: 'Failed', reason: passedOn(last.reason ?? last.class), message };
  }
  if (remainingMs > 0 || status.clock === undefined) return ending === undefined ? waitedTooLong(facts) : undefined;
  return {
    result: 'Failed',
    reason: 'DeadlineExceeded',
    message: `${deadlineWords(facts)}; the last attempt ended with ${last.reason}`,
  };
}

function waitedTooLong({ snapshot, status, now }: Facts): Verdict | undefined {
  if (now < queuedUntil(status, snapshot)) return undefined;
  const { pool } = snapshot.resolution;
  const said = findCondition(status.conditions, 'Scheduled')?.message;
  const bound = `spec.limits.queueTimeoutSeconds (${pool?.spec.limits?.queueTimeoutSeconds}) of its ExpertPool`;
  const message = `the task waited longer than ${bound}${said === undefined ? '' : `: ${said}`}`;
  return { result: 'Failed', reason: 'QueueTimeout', message };
}

/** What the worker said about an attempt, while its report still stands. */
export function outcomeMessage({ status }: Facts, attempt: Attempt): string {
  const said = status.run?.attempt === attempt.number ? status.run.outcome?.message : undefined;
  return startTrouble(status, attempt) ?? said ?? attempt.reason ?? '';
}
