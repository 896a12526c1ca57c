/**
 * Judges the runs of a task's checks (architecture, decision 4). Pure: no I/O, no clock.
 *
 * - `artifact` judges a file that a check demands;
 * - `parse/` reads the results that test runners print or write, and reports untrusted ones;
 * - `compare/` compares a run with the baseline, test by test;
 * - `protect/` determines which files an attempt may not touch, and judges its changes.
 *
 * May import `protocol`. May import protocol, kube and the keeper's client.
 */
export { artifactFaults, SchemaError } from './artifact.ts';
export { badEnd, compare, judgeBaseline } from './compare/index.ts';
export type { BaselineJudgement, CheckRun, Reason, ReasonCode, Verdict } from './compare/index.ts';
export { namingEnvironment, countTests, wholeRun } from './parse/results.ts';
export { parseResults } from './parse/index.ts';
export { editable, resultTampering, judgeChanges, protectedPaths, reportFiles } from './protect/index.ts';
export type { Change, ChangeJudgement, CheckCommand, Operation, Protect, ProtectedSet, Violation, Writing } from './protect/index.ts';
export { selectTests } from './select.ts';
export type { ResultFormat, TestResult } from './parse/results.ts';
