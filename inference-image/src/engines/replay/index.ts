/** Recorded proposals, for tests and for demonstrations of bad behaviour. Part of `engines`: may import `base`, `gpu`, `models` and protocol. */
export { readRecords, ReplayEngine } from './replay.ts';
