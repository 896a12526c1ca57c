import type { ConditionValue } from '../../../operands/conditions.ts';
import { passedOn, type RolloutStatus } from '@agentfleet/protocol/api';

/** Reasons that somebody has to look at. */
const unhealthy: ReadonlySet<string> = new Set([
  'Frozen',
  'GateFailed',
  'EnginesFailed',
  'MissingData',
  'Held',
  'NoGoldenResult',
  'Incompatible',
  'NoPlace',
  'ClockSkew',
  'Cooldown',
  'RevisionLost',
]);

/** The condition RolloutHealthy: whether a rollout goes its way, or there is none. Pure. */
export function rolloutCondition(status: RolloutStatus | undefined): ConditionValue | undefined {
  if (status === undefined) return undefined;
  const { message, canary } = status;
  const reason = passedOn(status.reason);
  const reported = canary === undefined || message.includes(canary) ? message : `revision ${canary}: ${message}`;
  return { status: unhealthy.has(reason) ? 'False' : 'True', reason, message: reported };
}
