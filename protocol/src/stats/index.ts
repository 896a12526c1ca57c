/** Statistics that workers and evaluations share. Pure; imports nothing. */
export { auc, brier, ece, reliability, type ReliabilityBin, type Scored } from './scores.ts';
