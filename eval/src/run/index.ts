/** Runs packs under variants, in any pool, into a file of results. Imports `format`, `stats` and protocol. */
export * from './run.ts';
export * from './results.ts';
