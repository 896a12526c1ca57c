/** What a worker writes to `status.run`: when, how much, and what it does when it is refused. Imports attempt's ports. */
export { Reporter, type ReporterOptions, type WriteResult, progressMs, workerManager, runFilter, type ValidRun } from './reporter.ts';
export { trim, maxRunBytes, baseOf, noUsage, usedSoFar, withWallSeconds, withinAssignment } from './shape.ts';
