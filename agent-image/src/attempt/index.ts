/**
 * Work of a worker inside one sandbox, from an assignment to its outcome. `engine` calls one file per phase, in this order:
 * prepare · baseline · a strategy (search, loop or harness, which are given to it) · verify · closing (artifacts); rollback stands
 * beside them. `ports` is what an attempt gets from outside, `scope` what its phases share, `sandboxSession` the only way to the
 * sandbox while the work goes on; below them stand gate (gate 1), approvals (gate 2 and people), acts, meter, progress,
 * notes, checkRun.
 * A phase imports what stands before it here and what all share, never the engine.
 *
 * May import `base`, `checks`, `rails`, `effects`, `egress`, `features`, `coverage`, `models`, `store`, `protocol`, `kube` and the
 * keeper's client.
 */
export { createAttemptEngine } from './engine.ts';
export { AttemptFailure } from '../base/failure.ts';
export type { AttemptContext, AttemptEngine, DecisionModels, Experts, Outcome, Report } from './ports.ts';
export type { EngineOptions } from './scope.ts';
