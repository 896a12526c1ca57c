/** Runs packs under variants, in any pool, into a file of results. Imports `format` and `stats`. */
export { defaultBudget, type AttemptBudget, type AttemptOptions, type EvalPool, type ModelOptions } from './pool.ts';
export {
  keyOf,
  recordFormat,
  recordSchema,
  solved,
  type Attempted,
  type AttemptKey,
  type ConversationCounts,
  type EvalRecord,
  type TriedCandidate,
} from './record.ts';
export { headFormat, readResults, ResultsFile, type ResultsHead } from './results.ts';
export { headOf, packDigest, runPlan, seedFor, selected, type Plan, type RunOptions, type Selection } from './run.ts';
export {
  ablations,
  compute,
  digestOf,
  full,
  learnedParts,
  profileVariants,
  variantsOf,
  type LearnedPart,
  type Variant,
} from './variant.ts';
