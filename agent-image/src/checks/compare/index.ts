export { judgeBaseline } from './baseline.ts';
export { compare } from './compare.ts';
export { badEnd } from './end.ts';
export type { BaselineJudgement, CheckClass, CheckRun, Expect, Reason, ReasonCode, RunEnd, Verdict } from './types.ts';
