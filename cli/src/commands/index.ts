/** The commands of `fleet`, one a file, wired in `program.ts`. May import every folder of the CLI, `eval`, `kube`, `protocol` and readers of the worker. */
export { auditShow, auditVerify } from './audit.ts';
export { type CommandContext, type LocalContext } from './command.ts';
export { diff } from './diff.ts';
export { evalCompare, evalReport } from './evalCompare.ts';
export { type EvalRunFlags, evalRunCluster, evalRunLocal } from './evalRun.ts';
export { type EvalScenariosFlags, type Played, evalScenarios } from './evalScenarios.ts';
export { type EvalJudgeFlags, type EvalVerifyFlags, type Verified, evalJudge, evalVerify } from './evalVerify.ts';
export { type MigrateFlags, migrate } from './migrate.ts';
export { answer, cancel, decideRollout, message } from './order.ts';
export { show } from './show.ts';
export { tasks } from './tasks.ts';
export { type TraceFlags, trace, traceFiles } from './trace.ts';
export { type UndoFlags, modes, undo } from './undo.ts';
