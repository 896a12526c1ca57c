/** Runs tasks of packs on this machine: the oracle must pass, the no-op and every decoy must not. Imports `format` only. */
export { runCommand, type Ending, type Limits } from './command.ts';
export {
  readCounts,
  type Counts,
  checkPassed,
  missedTests,
  judge,
  layOut,
  type CheckVerdict,
  type JudgeOptions,
  type Verdict,
} from './judge.ts';
export {
  fixedSample,
  countTable,
  taskHeader,
  taskLine,
  requireSound,
  verifyTask,
  verifyTasks,
  type TaskReport,
  type VerifyOptions,
} from './verify.ts';
