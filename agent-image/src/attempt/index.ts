/**
 * What a worker does inside one sandbox, from an assignment to its outcome. One file per phase, in this order: prepare ·
 * baseline · localise · repair (proposals, trial, gate) · verify · closing; rollback stands beside them. `session` is the
 * only way to the sandbox while the work goes on.
 *
 * May import `plan`, `checks`, `rails`, `store`, `protocol`, `kube` and the keeper's client.
 */
export { createAttemptEngine } from './engine.ts';
export { AttemptFailure } from './failure.ts';
export type { DecisionModels } from './decisionModels.ts';
export type { AttemptContext, AttemptEngine, Experts, Outcome, Report, Restored } from './ports.ts';
export type { CollectCoverage, EngineOptions, ImportWorkspace } from './scope.ts';
