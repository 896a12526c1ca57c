/**
 * The catalogue of reasons of conditions, events and outcomes, and of the types of conditions; it makes
 * docs/reference/reasons.md. A reason without an entry here does not compile where it is given. Imports nothing.
 */
import { attemptReasons, checkReasons } from './attempts.ts';
import { placementReasons, poolReasons, rolloutReasons } from './pools.ts';
import { taskReasons } from './tasks.ts';

export { conditionTypes, type ConditionType } from './types.ts';

/** The catalogue by what it is about. Each reason is there once, also where it is given about several things. */
export const reasonGroups = {
  'Tasks and orders': taskReasons,
  'Outcomes of attempts': attemptReasons,
  'Checks and changed paths': checkReasons,
  'Pools and energy models': poolReasons,
  Rollouts: rolloutReasons,
  Placement: placementReasons,
} as const;

/** Every reason with its meaning, and its cure where a person has to act. */
export const reasons = {
  ...taskReasons,
  ...attemptReasons,
  ...checkReasons,
  ...poolReasons,
  ...rolloutReasons,
  ...placementReasons,
} as const;

/** A reason of the catalogue: for programs, which match on it. */
export type Reason = keyof typeof reasons;

/** Returns a reason that was read back from a status, or that a worker, the keeper or Kubernetes gave: it is passed on unchecked. */
export function passedOn(reason: string): Reason {
  return reason as Reason;
}
