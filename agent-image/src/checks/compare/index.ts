export { judgeBaseline, badEnd } from './baseline.ts';
export { compare } from './compare.ts';
export type { BaselineJudgement, CheckClass, CheckRun, Expect, Reason, ReasonCode, RunEnd, Verdict } from './types.ts';
