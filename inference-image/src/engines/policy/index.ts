/**
 * Classifies how unsafe an act is, and its kind. Weights are made by `train/policy`, which fits with this code. Imports
 * `protocol` only.
 */
export { loadPolicy, type Policy } from './policy.ts';
