/**
 * Statistics of evaluations and of training: intervals, paired tests, scores, gates. Pure; imports those shared with
 * workers, and nothing else of the project.
 */
export * from './gates.ts';
export * from './statistics.ts';
export { auc, brier, ece, mean, quantile, reliability, wilson } from '@agentfleet/protocol/stats';
export type { Interval, Scored } from '@agentfleet/protocol/stats';
