/**
 * Rollouts of pools and models as the cluster shows them: what serves under which name, which tasks work with it, what
 * became of them, and how far the rollout is. Decides by `rollout/`; imports runtime, pools and serving, no controller.
 */
export { armsOf, RolloutLock, expertHash, poolRevision, revisionOf, shortHash } from './arm.ts';
export { rolloutEvent, rolloutMoved, isOpen, type Seen } from './progress.ts';
export { reportedRollout, rolloutReport, type RolloutReport } from './report.ts';
export { EngineReader, metricsByHttp, type AskMetrics } from './engines.ts';
export { type Latency, LatencyReader, lookMs, type ModelFault, modelFaults } from './latency.ts';
export { heardByGolden } from './goldenJob.ts';
export { QueryReader, textByHttp } from './prometheus.ts';
export { shadowIn } from './ledger.ts';
export { followRollout, lostOf, shortOf, withPlaces, type Followers, type InUse, type Planned, type Revisions } from './follow.ts';
export {
  numbered,
  planOfRest,
  planRevisions,
  recordName,
  recordsOf,
  servingArms,
  type PlanOf,
  type Recorded,
  type RolloutOwner,
} from './plan.ts';
export { noShadow, type ShadowTallies, shadowCondition } from './shadow.ts';
export { namedPolicy, type NamedPolicy, namesPolicy } from './policy.ts';
export { Trials } from './trials.ts';
