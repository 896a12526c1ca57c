import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EvalRecord, ResultsHead } from '../run/results.ts';
import { htmlReport } from './html.ts';
import { inOrder, reportOf, type EvalReport, junitXml } from './text.ts';

/** Writes `report.json`, `report.html` and `junit.xml` beside the results; the same records give the same bytes. */
export async function writeReports(folder: string, head: ResultsHead, records: readonly EvalRecord[]): Promise<EvalReport> {
  const sorted = inOrder(head, records);
  const report = reportOf(head, sorted);
  await writeFile(join(folder, 'report.json'), `${JSON.stringify(report, null, 2)}\n`);
  await writeFile(join(folder, 'report.html'), htmlReport(report, sorted));
  await writeFile(join(folder, 'junit.xml'), junitXml(sorted));
  return report;
}
