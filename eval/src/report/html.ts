import type { EvalRecord } from '../run/record.ts';
import { solved } from '../run/record.ts';
import type { EvalReport } from './json.ts';
import { escaped } from './junit.ts';
import { pairedPlot, reliabilityPlot, solvedPlot, triesPlot } from './plots.ts';
import { saidOf } from './summary.ts';
import { comparisonCells, comparisonHead, flakeText, groupCells, groupHead } from './text.ts';

const style = `body{font:14px/1.5 system-ui,sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;color:#1b1f24;background:#fff}
table{border-collapse:collapse;margin:1em 0}td,th{border-bottom:1px solid #d0d7de;padding:3px 10px;text-align:left}
svg text{font:12px system-ui,sans-serif;fill:#1b1f24}.grid{stroke:#d0d7de}.bar{stroke:#0969da;stroke-width:3}.dot{fill:#0969da}
.curve{fill:none;stroke-width:2}.c0{stroke:#0969da}.c1{stroke:#cf222e}.c2{stroke:#1a7f37}.c3{stroke:#8250df}.c4{stroke:#bf8700}.c5{stroke:#57606a}
svg .t0{fill:#0969da}svg .t1{fill:#cf222e}svg .t2{fill:#1a7f37}svg .t3{fill:#8250df}svg .t4{fill:#bf8700}svg .t5{fill:#57606a}code{font-size:12px}`;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (kind: string, row: readonly string[]): string => row.map((cell) => `<${kind}>${escaped(cell)}</${kind}>`).join('');
  return `<table><tr>${cells('th', head)}</tr>${rows.map((row) => `<tr>${cells('td', row)}</tr>`).join('')}</table>`;
}

function section(title: string, ...parts: readonly string[]): string {
  return `<h2>${escaped(title)}</h2>${parts.join('')}`;
}

function unsolved(records: readonly EvalRecord[]): string {
  const rows = records
    .filter((record) => !solved(record))
    .map(({ task, variant, result, reason, hidden, usage, wallSeconds, message }) => {
      const numbers = [String(usage.candidates), wallSeconds.toFixed(1)];
      return [task, variant, `${result} ${reason}`, hidden, ...numbers, message.slice(0, 160)];
    });
  return table(['Task', 'Variant', 'Result', 'Hidden check', 'Tries', 'Seconds', 'Message'], rows);
}

/** One file that shows all of a run and asks nothing of any network. */
export function htmlReport(report: EvalReport, records: readonly EvalRecord[]): string {
  const { head, groups, comparisons, flakes } = report;
  const digests = Object.entries({ ...head.packs, ...head.variants }).map(([name, digest]) => [name, digest]);
  const body = [
    `<h1>fleet eval</h1><p>Pool ${escaped(head.pool)}, seed ${head.seed}, ${records.length} attempts. Intervals hold 95 %.</p>`,
    section('Solved', solvedPlot(groups), table(groupHead, groups.map(groupCells))),
    ...(comparisons.length === 0
      ? []
      : [section('Compared, task by task', pairedPlot(comparisons), table(comparisonHead, comparisons.map(comparisonCells)))]),
    section('Candidates until solved', triesPlot(records)),
    section('Reliability of pSuccess', reliabilityPlot(saidOf(records))),
    section('Flakes', `<p>${escaped(flakeText(flakes))}</p>`),
    section('Not solved', unsolved(records)),
    section('What this depends on', table(['Name', 'Digest'], digests)),
  ];
  const policy = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`;
  return `<!doctype html><html lang="en"><meta charset="utf-8">${policy}<title>fleet eval</title><style>${style}</style><body>${body.join('\n')}</body></html>\n`;
}
