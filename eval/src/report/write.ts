import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EvalRecord } from '../run/record.ts';
import type { ResultsHead } from '../run/results.ts';
import { htmlReport } from './html.ts';
import { reportOf, type EvalReport } from './json.ts';
import { junitXml } from './junit.ts';

/** Writes `report.json`, `report.html` and `junit.xml` beside the results; the same records give the same bytes. */
export async function writeReports(folder: string, head: ResultsHead, records: readonly EvalRecord[]): Promise<EvalReport> {
  const sorted = records.toSorted((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1));
  const report = reportOf(head, sorted);
  await writeFile(join(folder, 'report.json'), `${JSON.stringify(report, null, 2)}\n`);
  await writeFile(join(folder, 'report.html'), htmlReport(report, sorted));
  await writeFile(join(folder, 'junit.xml'), junitXml(sorted));
  return report;

  /** Variants in the order of the head, of which the first is what others are compared with. */
  function orderOf({ pack, variant, task, seed, round }: EvalRecord): string {
    const place = String(Object.keys(head.variants).indexOf(variant)).padStart(4, '0');
    return [pack, place, task, seed, round].join('\u0000');
  }
}
