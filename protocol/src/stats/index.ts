/** Statistics that operator, workers, evaluations and training share. Pure; imports nothing. */
export { mean, quantile, wilson, type Interval } from './samples.ts';
export { auc, brier, ece, reliability, type ReliabilityBin, type Scored } from './scores.ts';
