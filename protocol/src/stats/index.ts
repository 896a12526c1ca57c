/** Statistics that workers and evaluations share. Pure; imports nothing. */
export { auc, ece, reliability, type ReliabilityBin, type Scored } from './scores.ts';
