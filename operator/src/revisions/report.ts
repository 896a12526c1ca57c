import { type Condition, findCondition } from '@agentfleet/kube';
import type { RolloutStatus } from '@agentfleet/protocol/api';

/** The status of a pool or model, as far as it concerns rollouts. */
export interface RolloutOwnerStatus {
  readonly rollout?: RolloutStatus;
  readonly conditions?: readonly Condition[];
}

/** A rollout with its reason and message, which the status of its owner has in the condition RolloutHealthy alone. */
export interface RolloutReport extends RolloutStatus {
  readonly reason: string;
  readonly message: string;
}

/** Returns the rollout of an owner as it was reported last. Pure. */
export function rolloutReport({ rollout, conditions }: RolloutOwnerStatus = {}): RolloutReport | undefined {
  if (rollout === undefined) return undefined;
  const { reason = 'Idle', message = '' } = findCondition(conditions, 'RolloutHealthy') ?? {};
  return { ...rollout, reason, message };
}

/** Returns `status.rollout` of a report. Pure. */
export function reportedRollout({ reason: _reason, message: _message, ...rollout }: RolloutReport): RolloutStatus {
  return rollout;
}

/** The fields that are set: those of a status are left out where there is nothing to say. Pure. */
export function defined<T extends object>(fields: { readonly [K in keyof T]-?: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}
