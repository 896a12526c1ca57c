/** Runs tasks of packs on this machine: the oracle must pass, the no-op and every decoy must not. Imports `format` only. */
export { runCommand, type Ending, type Limits } from './command.ts';
export { readCounts, type Counts } from './counts.ts';
export { checkPassed, missedTests } from './passed.ts';
export { judge, layOut, type CheckVerdict, type JudgeOptions, type Verdict } from './judge.ts';
export { fixedSample } from './sample.ts';
export { countTable, taskHeader, taskLine } from './table.ts';
export { requireSound, verifyTask, verifyTasks, type TaskReport, type VerifyOptions } from './verify.ts';
