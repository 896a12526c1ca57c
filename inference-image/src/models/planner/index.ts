/**
 * The planner: a control vector for the next step from the steps so far. Weights are made by `train/planner`.
 * Part of `models`: may import protocol.
 */
export { loadPlanner } from './planner.ts';
