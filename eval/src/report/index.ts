/** Reports of results: numbers, a terminal, CI systems, one page. Pure but for `writeReports`; imports `run` and `stats`. */
export { htmlReport } from './html.ts';
export {
  reportFormat,
  reportOf,
  reportSchema,
  type EvalReport,
  escaped,
  junitXml,
  alignedTable,
  comparisonCells,
  comparisonHead,
  flakeText,
  groupCells,
  groupHead,
  markdownTable,
  numberText,
  shareText,
  terminalReport,
} from './text.ts';
export {
  compareRecords,
  comparisonsOf,
  flakeBudget,
  flakesOf,
  groupsOf,
  saidOf,
  type Comparison,
  type Flakes,
  type Group,
} from './summary.ts';
export { writeReports } from './write.ts';
