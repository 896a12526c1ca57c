/** Recorded proposals, for tests and for demonstrations of bad behaviour. */
export { readRecords, ReplayEngine } from './replay.ts';
