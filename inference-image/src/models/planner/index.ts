/** The planner: a control vector for the next step from the steps so far. Weights are made by `train/planner`. */
export { loadPlanner, type Planner } from './planner.ts';
