/** What a worker writes to `status.run`: when, how much, and what it does when it is refused. Imports attempt's ports. */
export * from './reporter.ts';
export { trim, maxRunBytes } from './trim.ts';
export * from './usage.ts';
export { runFilter, type ValidRun } from './valid.ts';
