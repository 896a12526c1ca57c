/**
 * Statistics of evaluations and of training: intervals, paired tests, scores, gates. Pure; imports those shared with
 * workers, and nothing else of the project.
 */
export { assertNoLeak, calibrationGate, normalisedHash } from './gates.ts';
export {
  bootstrap,
  mcNemar,
  pairedDifference,
  type McNemar,
  cleanTrials,
  detectable,
  mcNemarPower,
  resample,
  seeded,
  scoredInterval,
} from './statistics.ts';
export { auc, brier, ece, mean, quantile, reliability, wilson } from '@agentfleet/protocol/stats';
export type { Interval, Scored } from '@agentfleet/protocol/stats';
