import type { NewEvent } from '@agentfleet/kube';
import type { RolloutStatus } from '@agentfleet/protocol/api';

interface Told {
  readonly rollout?: RolloutStatus;
}

/** Whether the rollout is somewhere else than before. Pure. */
export function rolloutMoved(present: Told | undefined, next: Told): boolean {
  const [old, now] = [present?.rollout, next.rollout];
  if (old === undefined || now === undefined) return old !== now;
  const fields = ['phase', 'id', 'stable', 'canary', 'weight', 'step', 'retried'] as const;
  return fields.some((field) => old[field] !== now[field]);
}

const warnings: ReadonlySet<string> = new Set([
  'GateFailed',
  'EnginesFailed',
  'MissingData',
  'NoGoldenResult',
  'Frozen',
  'Incompatible',
  'NoPlace',
  'ClockSkew',
  'RevisionLost',
]);

/** What people should hear of a rollout: every other phase, and what holds it up. Pure. */
export function rolloutEvent(present: Told | undefined, next: Told): NewEvent | undefined {
  const [old, now] = [present?.rollout, next.rollout];
  if (now === undefined || (old?.phase === now.phase && old.reason === now.reason && old.step === now.step)) return undefined;
  return { type: warnings.has(now.reason) ? 'Warning' : 'Normal', reason: now.reason, action: 'Rollout', note: now.message.slice(0, 1024) };
}
