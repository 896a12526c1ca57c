/**
 * Compares runs of one check with those at snapshot 0, and judges whether they can be trusted. Part of `checks`: may
 * import protocol, kube and the keeper's client.
 */
export { judgeBaseline, badEnd } from './baseline.ts';
export { compare } from './compare.ts';
export type { BaselineJudgement, CheckRun, Reason, ReasonCode, RunEnd, Verdict } from './types.ts';
