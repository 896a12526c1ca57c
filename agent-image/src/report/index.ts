/** Writes of a worker to `status.run`: when, how much, and the reaction to refusals. Imports attempt's ports. */
export { Reporter, type WriteResult, runFilter } from './reporter.ts';
export { baseOf, noUsage, usedSoFar, withWallSeconds, withinAssignment } from './shape.ts';
