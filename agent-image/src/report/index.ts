/** Writes of a worker to `status.run`: when, how much, and the reaction to refusals. Imports attempt's ports. */
export { Reporter, type ReporterOptions, type WriteResult, progressMs, workerManager, runFilter, type ValidRun } from './reporter.ts';
export { trim, maxRunBytes, baseOf, noUsage, usedSoFar, withWallSeconds, withinAssignment } from './shape.ts';
