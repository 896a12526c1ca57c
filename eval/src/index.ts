/** Evaluation: packs, runs of packs, reports. Pools of this machine are in `@agentfleet/eval/local`. May import every folder of eval but `local`. */
export { EvalError } from './run/failure.ts';
export * from './cluster/pool.ts';
export * from './format/index.ts';
export * from './report/index.ts';
export * from './run/index.ts';
