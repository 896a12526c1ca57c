/** Evaluation: packs, runs of packs, reports. What makes a pool of this machine is in `@agentfleet/eval/local`. */
export { EvalError } from './run/failure.ts';
export * from './cluster/index.ts';
export * from './format/index.ts';
export * from './report/index.ts';
export * from './run/index.ts';
