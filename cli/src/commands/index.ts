/**
 * The commands of `fleet`, one a file, which `wiring` loads when one is asked for. May import every other folder of the CLI but `wiring`,
 * and of the project `protocol`, `kube`, `client`, `dashboard`, `eval` (of `eval/local` types) and `@agentfleet/agent/trace`.
 */
export type { CommandContext, LocalContext, Screen } from './command.ts';
export type { EvalRunFlags } from './evalRun.ts';
export type { Played } from './evalScenarios.ts';
export type { Verified } from './evalVerify.ts';
