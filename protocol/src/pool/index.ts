/**
 * What the operator tells the workers of a pool: one ConfigMap in the pool's namespace, which the workers watch.
 * Imports the keeper's enumerations and the engine-independent names only.
 */
export * from './ablations.ts';
export { assignedBrief } from './arms.ts';
export * from './brief.ts';
export * from './names.ts';
