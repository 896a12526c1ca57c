/** Reports of results: numbers, a terminal, CI systems, one page. Pure but for `writeReports`; imports `run` and `stats`. */
export { htmlReport, writeReports } from './html.ts';
export * from './text.ts';
export * from './summary.ts';
