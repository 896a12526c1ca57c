/** How unsafe an act is, and of which kind. Weights are made by `train/policy`. */
export { loadPolicy, type Policy } from './policy.ts';
