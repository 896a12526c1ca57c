import { findCondition, keyOf, timestamp } from '@agentfleet/kube';
import { attemptAction, type FailureClass, type Reason, passedOn, type AgentTaskStatus, type ExpertPool } from '@agentfleet/protocol/api';
import { isolationFloor, meetsFloor } from './sandbox/capabilities.ts';
import { cancelledReason, chargedAttempts, type Attempt, type Books, type Ending } from './facts/attempts.ts';
import { queuedUntil, type Facts, type Verdict, type Transition, deadlineSecondsOf } from './facts/snapshot.ts';
import { networkOpened, openedMessage, type SandboxState } from './sandbox/state.ts';

const failed = (failure: FailureClass, reason: Reason, message: string): Ending => ({ result: 'Failed', class: failure, reason, message });

const given = (result: Verdict['result'], reason: Reason, message: string): Verdict => ({ result, reason, message });

/** Returns the ending of the open attempt; undefined while it goes on. Cancellation comes first, then the worker's report. */
export function endingOf(facts: Facts): Ending | undefined {
  if (!facts.open) return undefined;
  return cancelled(facts) ?? reported(facts) ?? tooLate(facts) ?? brokenWall(facts) ?? lost(facts) ?? lateStart(facts);
}

function cancelled(facts: Facts): Ending | undefined {
  const { cancel, run, snapshot, remainingMs, sandboxLoss } = facts;
  const ending: Ending = { result: 'Cancelled', reason: cancelledReason, message: `cancelled (${cancel}) as ${by(facts)} says` };
  if (cancel === 'Rollback' || cancel === 'Terminate') return ending;
  if (cancel !== 'Stop') return undefined;
  // A result that was reached before the worker received the cancellation counts.
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
  if (outcome.result === 'Stopped') return failed('Infrastructure', 'Stopped', `the worker stopped by itself: ${message}`);
  return failed(outcome.class ?? 'AgentError', passedOn(outcome.reason), message);
}

function tooLate(facts: Facts): Ending | undefined {
  return facts.remainingMs > 0 ? undefined : failed('DeadlineExceeded', 'DeadlineExceeded', deadlineWords(facts));
}

/** The worker looks at the wall before it begins; what it published is judged here too, by who owns the floor. */
function brokenWall({ run, snapshot }: Facts): Ending | undefined {
  const { pool } = snapshot.resolution;
  const wall = run?.isolation;
  const broken = (reason: Reason, message: string): Ending => failed('PolicyViolation', reason, message);
  if (snapshot.openings.length > 0 && pool?.spec.policy.allowUnenforcedNetwork === false)
    return broken(networkOpened, openedMessage(snapshot.task, snapshot.openings));
  if (wall === undefined || pool === undefined) return undefined;
  const floor = isolationFloor(snapshot, pool);
  if (!meetsFloor(wall.level, floor))
    return broken('IsolationBelowFloor', `the sandbox has isolation ${wall.level}, and ${floor} is demanded`);
  if (wall.network === 'NotEnforced' && !pool.spec.policy.allowUnenforcedNetwork) {
    return broken(
      'NetworkNotEnforced',
      'no NetworkPolicy holds in the sandbox; install a network plugin that enforces them, or allow it by spec.policy.allowUnenforcedNetwork of the pool',
    );
  }
  return undefined;
}

function lost({ sandboxIs, sandboxLoss, snapshot, atRest }: Facts): Ending | undefined {
  // The stored state is lost neither with the sandbox nor with the worker: the attempt goes on in another sandbox.
  if (atRest) return undefined;
  if (sandboxLoss !== undefined) return failed('Infrastructure', 'SandboxLost', sandboxLoss);
  if (sandboxIs?.invalid === true) return failed('InvalidInput', sandboxIs.reason, `${sandboxIs.message}; ${cures['ImagePullBackOff']}`);
  const worker = snapshot.assigned?.lost;
  return worker === undefined ? undefined : failed('Infrastructure', 'WorkerLost', worker);
}

/**
 * Returns the verdict on the task; undefined while the task may go on. `ending` is that of the attempt that ends now, `books`
 * hold it already. A verdict that was given before stands: the condition Succeeded keeps it.
 */
export function verdictOf(facts: Facts, books: Books, ending: Ending | undefined): Verdict | undefined {
  const { status, cancel, assignment, open } = facts;
  const said = findCondition(status.conditions, 'Succeeded');
  if (said !== undefined && said.status !== 'Unknown') {
    const result = said.status === 'True' ? 'Succeeded' : said.reason === cancelledReason ? 'Cancelled' : 'Failed';
    return given(result, passedOn(said.reason), said.message);
  }
  if (ending?.result === 'Succeeded') return given('Succeeded', provedBy(ending.reason), ending.message);
  const running = assignment !== undefined && open && ending === undefined;
  if (cancel !== 'None' && !running)
    return given('Cancelled', cancelledReason, ending?.message ?? `cancelled (${cancel}) as ${by(facts)} says`);
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
  const action = attemptAction(last.class, spec.attempts);
  if (action === 'Fail')
    return given('Failed', last.class, `attempt ${last.number} ended with ${last.reason}, after which no other follows: ${why}`);
  if (charged >= spec.attempts.max && action !== 'Ignore')
    return given('Failed', last.class, `${charged} of ${spec.attempts.max} attempts failed, the last with ${last.reason}: ${why}`);
  const starts = startFailures(attempts);
  if (starts >= maxStartFailures) {
    const message = `${starts} attempts in a row failed before anything was begun, the last with ${last.reason}: ${why}`;
    return given('Failed', passedOn(last.reason ?? last.class), message);
  }
  if (remainingMs > 0 || status.clock === undefined) return ending === undefined ? waitedTooLong(facts) : undefined;
  return given('Failed', 'DeadlineExceeded', `${deadlineWords(facts)}; the last attempt ended with ${last.reason}`);
}

function waitedTooLong({ snapshot, status, now }: Facts): Verdict | undefined {
  if (now < queuedUntil(status, snapshot)) return undefined;
  const { pool } = snapshot.resolution;
  const said = findCondition(status.conditions, 'Scheduled')?.message;
  const bound = `spec.limits.queueTimeoutSeconds (${pool?.spec.limits?.queueTimeoutSeconds}) of its ExpertPool`;
  const message = `the task waited longer than ${bound}${said === undefined ? '' : `: ${said}`}`;
  return given('Failed', 'QueueTimeout', message);
}

/** Returns the message about an attempt: of a sandbox that did not start, of the worker while its report still stands, else the reason. */
export function outcomeMessage({ status }: Facts, attempt: Attempt): string {
  const said = status.run?.attempt === attempt.number ? status.run.outcome?.message : undefined;
  return startTrouble(status, attempt) ?? said ?? attempt.reason ?? '';
}

/** Failures in a row before anything was begun after which a task has failed. `status.attempts` shows at least as many. */
export const maxStartFailures = 5;

/** Seconds in which a sandbox has to answer when its pool is gone. */
const usualStartSeconds = 120;

/** Cures for a sandbox that does not start, by the reason that keeps it. */
const cures: Readonly<Record<string, string>> = {
  ImagePullBackOff:
    'create the task again with another spec.sandbox.image, or correct that of the template of the pool, or what the registry demands',
  Unschedulable: 'offer nodes with room for it, or create the task again with less in spec.sandbox',
};

/** Returns the message about a sandbox that does not start, with the cure where one is known. Pure. */
export function withCure({ reason, message }: Pick<SandboxState, 'reason' | 'message'>): string {
  const cure = cures[reason];
  return cure === undefined ? message : `${message}; ${cure}`;
}

/** Seconds in which the sandbox of a task has to answer. Pure. */
export function startTimeoutSeconds(pool: ExpertPool | undefined): number {
  return pool?.spec.sandbox.startTimeoutSeconds ?? usualStartSeconds;
}

/** Returns the time at which a sandbox that has not answered is given back, ms since the epoch; Infinity when it may take its time. */
export function startUntil({ assignment, sandbox, answered, open, snapshot }: Facts): number {
  // Also of a suspended task: a sandbox that does not answer cannot be brought to rest.
  const begins = assignment?.directive === 'Run' || assignment?.directive === 'Quiesce';
  const starts = begins && open && sandbox?.metadata.name === assignment.sandbox && !answered;
  if (!starts) return Infinity;
  // The API server's clock may be behind ours; an attempt that goes on after a pause was assigned long before its sandbox.
  const since = Math.max(Date.parse(sandbox.metadata.creationTimestamp ?? assignment.since), Date.parse(assignment.since));
  return since + startTimeoutSeconds(snapshot.resolution.pool) * 1000;
}

/** Times from a start on, ms: the kubelet may prepare a pod for so long without a question, and a look finds what it has to report then. */
export const slowStartMs = { ordinary: 10_000, look: 25_000 } as const;

/** Returns the time of that look, ms since the epoch; Infinity: none is due. Pure. */
export function slowStartAt(facts: Facts): number {
  return startUntil(facts) - startTimeoutSeconds(facts.snapshot.resolution.pool) * 1000 + slowStartMs.look;
}

/** Returns the ending of an attempt whose sandbox did not answer in time; undefined for any other one. Pure. */
function lateStart(facts: Facts): Ending | undefined {
  const { now, sandboxIs, snapshot } = facts;
  if (sandboxIs === undefined || now < startUntil(facts)) return undefined;
  const { pool } = snapshot.resolution;
  const { reason, message } = volumeTrouble(facts) ?? sandboxIs;
  const why = reason === 'Starting' ? 'SandboxStartTimeout' : reason;
  const bound = `${startTimeoutSeconds(pool)} s (spec.sandbox.startTimeoutSeconds of ExpertPool ${pool === undefined ? 'that is gone' : keyOf(pool)})`;
  const cure = cures[reason] ?? 'look at the events of the pod, or give it more time';
  return failed('Infrastructure', why, `the sandbox did not answer within ${bound}: ${message}; ${cure}`);
}

/** A pod reports nothing of the volume that it waits for, or only that it has no node. */
function volumeTrouble({ status }: Facts): { readonly reason: Reason; readonly message: string } | undefined {
  const said = findCondition(status.conditions, 'StorageReady');
  if (said?.status !== 'False') return undefined;
  return { reason: said.reason === 'VolumeLost' ? said.reason : 'VolumeNotBound', message: said.message };
}

/**
 * Reports whether an attempt failed before anything was begun in its sandbox: then there is nothing in it to keep. A worker
 * that went leaves a sandbox that another one can use. Pure.
 */
export function failedBeforeStart({ answered, run, status }: Facts, { class: failure, reason }: Ending): boolean {
  if (failure !== 'Infrastructure' || reason === 'WorkerLost' || reason === 'Stopped') return false;
  if (!answered) return true;
  return run?.snapshots?.initial === undefined && neverStarted(status.attempts ?? []);
}

/** Reports whether no attempt began anything. */
export function neverStarted(attempts: readonly Attempt[]): boolean {
  return attempts.every(({ started }) => started === false);
}

/** Failures before anything was begun since the last attempt in which something was. Pure. */
function startFailures(attempts: readonly Attempt[]): number {
  let count = 0;
  for (const { started, class: failure, usage } of attempts.toReversed()) {
    if (started === false) count += 1;
    else if (failure !== 'Infrastructure' || usage !== undefined) break;
  }
  return count;
}

/** Name of the sandbox of an attempt that ended before anything was begun in it: it is given back, and never used again. */
export function spentSandbox({ assignment }: Pick<Facts, 'assignment'>, attempts: readonly Attempt[]): string | undefined {
  const last = attempts.at(-1);
  return last?.started === false && last.number === assignment?.attempt ? assignment.sandbox : undefined;
}

/** Returns the reason why the last sandbox did not come to work, as its condition keeps it; undefined when it did. */
function startTrouble({ conditions }: AgentTaskStatus, attempt: Attempt | undefined): string | undefined {
  const said = findCondition(conditions, 'SandboxReady');
  return attempt?.started === false && said?.reason === attempt.reason ? said?.message : undefined;
}

/** The bound that is over, as the beginning of a sentence. */
function deadlineWords({ snapshot, spec }: Facts): string {
  const seconds = deadlineSecondsOf(snapshot);
  const { pool } = snapshot.resolution;
  if (pool === undefined || seconds === spec.deadlineSeconds) return `spec.deadlineSeconds (${seconds}) are over`;
  return `spec.policy.maxDeadlineSeconds (${seconds}) of ExpertPool ${keyOf(pool)} are over`;
}

/**
 * The clock starts when the first sandbox answers, and stands still while the task is suspended or an act waits for a
 * person. Pure.
 */
export function clockOf(facts: Facts, transition: Transition): AgentTaskStatus['clock'] {
  const { now } = facts;
  if (transition.kind === 'Ended') return facts.status.clock;
  const clock = facts.status.clock ?? (starts(facts, transition) ? { startedAt: timestamp(now), pausedSeconds: 0 } : undefined);
  if (clock === undefined) return undefined;
  if (transition.kind === 'Suspend' || transition.kind === 'Await') return { ...clock, pausedAt: clock.pausedAt ?? timestamp(now) };
  if (clock.pausedAt === undefined) return clock;
  const paused = Math.max(0, Math.round((now - Date.parse(clock.pausedAt)) / 1000));
  return { startedAt: clock.startedAt, pausedSeconds: clock.pausedSeconds + paused };
}

function starts({ answered, sandboxIs }: Facts, transition: Transition): boolean {
  if (transition.kind !== 'Bind')
    return answered && (transition.kind === 'Run' || transition.kind === 'Await' || transition.kind === 'Stop');
  return transition.sandbox.kind === 'Claim' || (transition.sandbox.kind === 'Held' && sandboxIs?.ready === true);
}
