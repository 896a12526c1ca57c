/**
 * Rollouts: how another revision of a pool's experts, or of a model, comes into use.
 * Part of `api`: may import the layers right of `api` in docs/architecture.md.
 */
export {
  type BoundMetric,
  type GateMetric,
  gateMetricNames,
  gateMetrics,
  type GateSpec as RolloutGate,
  obeyedWeight,
  unfitGate,
  verdicts as rolloutVerdicts,
  revisionName,
  rolloutId,
  rolloutPhases,
  RolloutStatus,
} from './gates.ts';
export { defaultShadow, rolloutPolicy, type RolloutPolicy, RolloutPolicySpec, type ShadowSpec, weekdays } from './spec.ts';

/** Annotations by which people steer a rollout. */
export const rolloutAnnotations = {
  /** Another value than before: failures are forgotten, and a frozen revision is tried again. */
  retry: 'agentfleet.dev/retry-rollout',
} as const;
