/**
 * The commands of `fleet`, one a file, which `wiring` loads when one is asked for. May import every folder of the CLI but `wiring`,
 * `eval`, `kube`, `protocol` and readers of the worker.
 */
export type { CommandContext, LocalContext, Screen } from './command.ts';
export type { EvalRunFlags } from './evalRun.ts';
export type { EvalScenariosFlags, Played } from './evalScenarios.ts';
export type { EvalJudgeFlags, EvalVerifyFlags, Verified } from './evalVerify.ts';
export type { MigrateFlags } from './migrate.ts';
export type { TraceFlags } from './trace.ts';
export type { UndoFlags } from './undo.ts';
