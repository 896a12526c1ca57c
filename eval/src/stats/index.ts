/** Statistics of evaluations and of training: intervals, paired tests, scores, gates. Pure; imports those that workers need too, and nothing else of the project. */
export {
  assertNoLeak,
  calibrationGate,
  GateError,
  normalisedHash,
  type CalibrationReport,
  type CalibrationRules,
  type Example,
} from './gates.ts';
export { wilson, type Interval } from './interval.ts';
export { mean, quantile } from './order.ts';
export { bootstrap, mcNemar, pairedDifference, type BootstrapOptions, type McNemar } from './paired.ts';
export { cleanTrials, detectable, mcNemarPower } from './power.ts';
export { resample, seeded, type Random } from './random.ts';
export { auc, brier, ece, reliability, scoredInterval, type ReliabilityBin, type Scored } from './scores.ts';
