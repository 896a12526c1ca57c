/**
 * Limits of a change with respect to the checks: protected files, sections of settings, tampering with results. Pure.
 * Imports `protocol` only.
 */
export { resultTampering, type Writing, judgeChanges } from './judge.ts';
export { protectedPaths } from './protected.ts';
export { editable } from './sections.ts';
export { reportFiles } from './entries.ts';
export type { Change, ChangeJudgement, CheckCommand, Operation, Protect, ProtectedSet, Violation } from './types.ts';
