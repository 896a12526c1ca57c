/**
 * Judges the runs of a task's checks (architecture, decision 4). Pure: no I/O, no clock.
 *
 * - `artifact` judges a file that a check demands;
 * - `parse/` reads the results that test runners print or write, and reports untrusted ones;
 * - `compare/` compares a run with the baseline, test by test;
 * - `protect/` determines which files an attempt may not touch, and judges its changes.
 *
 * May import `base`, protocol, kube and the keeper's client.
 */
export { artifactFaults, SchemaError } from './artifact.ts';
export { badEnd, judgeBaseline } from './compare/baseline.ts';
export { compare } from './compare/compare.ts';
export type { BaselineJudgement, CheckRun, Reason, ReasonCode, Verdict } from './compare/types.ts';
export { namingEnvironment, countTests, failing, wholeRun } from './parse/results.ts';
export { parseResults } from './parse/index.ts';
export { failureOfBuild } from './parse/summed.ts';
export { homeCache } from './protect/conventions.ts';
export { reportFiles } from './protect/entries.ts';
export { judgeChanges } from './protect/judge.ts';
export { definesMain, isJudged, resultTampering, type Writing } from './protect/signs.ts';
export { packagesOf } from './protect/conventions.ts';
export { isLeftOut, protectedPaths } from './protect/protected.ts';
export { guardedPart } from './protect/sections.ts';
export type { Change, ChangeJudgement, CheckCommand, Operation, ProtectedSet, Violation } from './protect/types.ts';
export { selectTests } from './select.ts';
export type { ResultFormat, TestResult } from './parse/results.ts';
