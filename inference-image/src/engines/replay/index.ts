/** Recorded proposals, for tests and for demonstrations of bad behaviour. */
export { readRecords } from './records.ts';
export { ReplayEngine } from './replay.ts';
