import type { RolloutReport } from '../revisions/index.ts';
import type { ConditionEntry } from '@agentfleet/kube';
import { passedOn } from '@agentfleet/protocol/api';
import type { ConditionValue } from '../runtime/resources.ts';

/** Returns the conditions of an object as a whole: whether it is ready, and if not, whether it is under way or stuck. Pure. */
export function wholeConditions(whole: ConditionValue): readonly ConditionEntry[] {
  const isReady = whole.status === 'True';
  const isStalled = !isReady && whole.stalled === true;
  return [
    ['Ready', whole],
    ['Reconciling', isReady || isStalled ? undefined : { ...whole, status: 'True' }],
    ['Stalled', isStalled ? { ...whole, status: 'True' } : undefined],
  ];
}

/** Reasons that a person has to look at. */
const unhealthy: ReadonlySet<string> = new Set([
  'Frozen',
  'GateFailed',
  'EnginesFailed',
  'Held',
  'NoGoldenResult',
  'Incompatible',
  'NoPlace',
  'ClockSkew',
  'Cooldown',
  'RevisionLost',
]);

/** The condition RolloutHealthy: whether a rollout goes its way, or there is none. Pure. */
export function rolloutCondition(status: RolloutReport | undefined): ConditionValue | undefined {
  if (status === undefined) return undefined;
  const { message, canary } = status;
  const reason = passedOn(status.reason);
  const words = canary === undefined || message.includes(canary) ? message : `revision ${canary}: ${message}`;
  return { status: unhealthy.has(reason) ? 'False' : 'True', reason, message: words };
}
