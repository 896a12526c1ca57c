/**
 * Rollouts of pools and models as the cluster shows them: what serves under which name, which tasks work with it, what
 * became of them, and how far the rollout is. Decides by `rollout/`; imports runtime, pools and serving, no controller.
 */
export { armsOf, type Arms } from './arm.ts';
export { rolloutEvent, rolloutMoved } from './events.ts';
export { EngineReader, metricsByHttp, type AskMetrics } from './engines.ts';
export { modelLockedBy, poolLockedBy, RolloutLock } from './lock.ts';
export { heardByGolden, type GoldenQuestion, type GoldenView } from './golden/index.ts';
export type { LedgerPlace } from './ledgerWriter.ts';
export { isOpen, progress, type Seen } from './progress.ts';
export { QueryReader, textByHttp, type AskText } from './prometheus.ts';
export { expertHash, poolRevision, revisionOf, shortHash } from './revision.ts';
export { shadowIn } from './ledger.ts';
export { noShadow, type ShadowTallies } from './shadow.ts';
export { shadowWord, type ShadowView } from './shadowHealth.ts';
export { shadowOf } from './policy.ts';
export { Trials, type Trial } from './trials.ts';
