import { timestamp } from '@agentfleet/kube';
import {
  addMoney,
  attemptAction,
  backoffSeconds,
  maxShownAttempts,
  type AgentTaskSpec,
  type AgentTaskStatus,
  type FailureClass,
  type Usage,
  type Reason,
} from '@agentfleet/protocol/api';

export type Attempt = NonNullable<AgentTaskStatus['attempts']>[number];

/** End of an attempt; without a class it succeeded or was cancelled. */
export interface Ending {
  readonly result: 'Succeeded' | 'Failed' | 'Cancelled';
  readonly class?: FailureClass;
  readonly reason: Reason;
  readonly message: string;
}

/** The attempts of a task, and what they have used together. */
export interface Books {
  readonly attempts: readonly Attempt[];
  readonly totals: AgentTaskStatus['totals'];
  /** Reason for the end of the attempt that ends now. */
  readonly why?: string;
}

/** Reason of an attempt that was ended by a cancellation. */
export const cancelledReason = 'Cancelled';

/** Sum of two usages; both whole. */
function addUsage(a: Usage | undefined, b: Usage | undefined): Usage | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const { cost: costA, ...countsA } = a;
  const { cost: costB, ...countsB } = b;
  const cost = costA === undefined || costB === undefined ? (costA ?? costB) : addMoney(costA, costB);
  const fields = Object.keys(countsB) as (keyof typeof countsB)[];
  const counts = Object.fromEntries(fields.map((field) => [field, (countsA[field] ?? 0) + (countsB[field] ?? 0)]));
  return { ...countsA, ...(counts as typeof countsB), ...(cost !== undefined && { cost }) };
}

function isCharged(attempt: Attempt, spec: AgentTaskSpec): boolean {
  return attempt.class !== undefined && attemptAction(attempt.class, spec.attempts) !== 'Ignore';
}

/** Attempts that count against `spec.attempts.max`. */
export function chargedAttempts(attempts: readonly Attempt[], spec: AgentTaskSpec): number {
  return attempts.filter((attempt) => isCharged(attempt, spec)).length;
}

/** Drops one attempt, first the oldest that is not charged: the charged ones are at most ten, and they are counted. */
function trim(attempts: readonly Attempt[], spec: AgentTaskSpec): readonly Attempt[] {
  if (attempts.length <= maxShownAttempts) return attempts;
  const at = attempts.findIndex((attempt) => !isCharged(attempt, spec));
  return attempts.filter((_, index) => index !== Math.max(0, at));
}

/** Facts about an attempt that ends, besides its end. */
export interface Closing {
  /** Ms since the epoch. */
  readonly now: number;
  /** False: it failed before anything was begun in its sandbox. */
  readonly started: boolean;
}

/** The books with the attempt that ends now. To be called once for an attempt: that is what makes the totals exact. */
export function closeAttempt(status: AgentTaskStatus, spec: AgentTaskSpec, ending: Ending, { now, started }: Closing): Books {
  const { assignment, attempts = [], totals } = status;
  if (assignment === undefined) return { attempts, totals };
  // An attempt may go through several epochs; its worker reports the use of all of them.
  const usage = status.run?.attempt === assignment.attempt ? status.run.usage : undefined;
  const entry: Attempt = {
    number: assignment.attempt,
    startedAt: assignment.since,
    endedAt: timestamp(now),
    ...(ending.class === undefined ? {} : { class: ending.class }),
    reason: ending.reason,
    ...(started ? {} : { started }),
    ...(usage === undefined ? {} : { usage: spentOf(usage) }),
  };
  const sum = addUsage(totals?.usage, usage);
  return { attempts: trim([...attempts, entry], spec), totals: sum === undefined ? totals : { usage: sum }, why: ending.message };
}

function spentOf({ tokensIn, tokensOut, cost, toolCalls }: Usage): NonNullable<Attempt['usage']> {
  return { tokensIn, tokensOut, ...(cost === undefined ? {} : { cost }), toolCalls };
}

/** Failures without a break that count alike, the newest one included. */
function failuresInARow(attempts: readonly Attempt[], spec: AgentTaskSpec): number {
  const newest = attempts.at(-1);
  if (newest === undefined) return 0;
  if (isCharged(newest, spec)) return chargedAttempts(attempts, spec);
  const other = attempts.findLastIndex((attempt) => isCharged(attempt, spec));
  return attempts.length - 1 - other;
}

/**
 * Returns the time at which the next attempt may begin, in ms since the epoch. The first failure that is not the task's own costs no wait:
 * waiting would not make another worker or sandbox better; repeated ones do wait, and so does a sandbox that did not start. An end that is
 * yet to come was written by a clock that was ahead.
 */
export function backoffUntil(attempts: readonly Attempt[], spec: AgentTaskSpec, now: number): number {
  const newest = attempts.at(-1);
  if (newest === undefined) return 0;
  const failures = failuresInARow(attempts, spec) - (isCharged(newest, spec) || newest.started === false ? 0 : 1);
  const endedAt = Date.parse(newest.endedAt ?? newest.startedAt);
  if (failures < 1 || endedAt > now) return 0;
  return endedAt + backoffSeconds(failures, spec.attempts.backoff) * 1000;
}
