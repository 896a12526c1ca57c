// protocol, api/agenttask: action and backoff after a failed attempt. May import the rest of api and the layers below it.
import type { Attempts } from './limits.ts';
import type { FailureClass } from './phases.ts';

/** Action that follows a failed attempt. */
export type AttemptAction = 'Retry' | 'RollbackAndRetry' | 'Fail' | 'Ignore';

/**
 * Default action of a class. `Stuck` is Fail: an agent that has no proposals left would have none the next time either.
 * `Infrastructure` is Ignore: the next attempt follows and this one is not charged.
 */
const byItself: Readonly<Record<FailureClass, AttemptAction>> = {
  Infrastructure: 'Ignore',
  AgentError: 'RollbackAndRetry',
  CheckFailed: 'RollbackAndRetry',
  // Checks that do not ask for a change do not the next time either.
  Unproved: 'Fail',
  Vetoed: 'RollbackAndRetry',
  PolicyViolation: 'Fail',
  BudgetExceeded: 'Fail',
  Stuck: 'Fail',
  DeadlineExceeded: 'Fail',
  ApprovalRejected: 'Fail',
  InvalidInput: 'Fail',
};

/** Returns the action that follows a failure of this class: by the rule of the task, or by the default of the class. */
export function attemptAction(failure: FailureClass, { rules = [] }: Pick<Attempts, 'rules'>): AttemptAction {
  return rules.find((rule) => rule.class === failure)?.action ?? byItself[failure];
}

/** The longest wait between attempts where the first one is no longer, seconds. */
const longestWait = 360;

/**
 * Seconds to wait after the n-th failure in a row (n ≥ 1): twice as long after each.
 *
 * @example
 * backoffSeconds(3, { seconds: 10 }); // 40
 */
export function backoffSeconds(failures: number, { seconds }: Attempts['backoff']): number {
  return Math.min(Math.max(longestWait, seconds), seconds * 2 ** Math.max(0, failures - 1));
}
