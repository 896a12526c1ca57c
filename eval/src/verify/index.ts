/** Runs tasks of packs on this machine: the oracle must pass, the no-op and every decoy must not. Imports `format` and the worker's checks. */
export { checkPassed, judge, layOut, type JudgeOptions } from './judge.ts';
export { fixedSample, countTable, taskHeader, taskLine, requireSound, verifyTask, verifyTasks, type TaskReport } from './verify.ts';
