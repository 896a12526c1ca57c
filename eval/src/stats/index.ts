/**
 * Statistics of evaluations and of training: intervals, paired tests, scores, gates. Pure; imports those shared with
 * workers, and nothing else of the project.
 */
export {
  assertNoLeak,
  calibrationGate,
  GateError,
  normalisedHash,
  type CalibrationReport,
  type CalibrationRules,
  type Example,
} from './gates.ts';
export {
  bootstrap,
  mcNemar,
  pairedDifference,
  type BootstrapOptions,
  type McNemar,
  cleanTrials,
  detectable,
  mcNemarPower,
  resample,
  seeded,
  type Random,
  scoredInterval,
} from './statistics.ts';
export { auc, brier, ece, mean, quantile, reliability, wilson } from '@agentfleet/protocol/stats';
export type { Interval, ReliabilityBin, Scored } from '@agentfleet/protocol/stats';
