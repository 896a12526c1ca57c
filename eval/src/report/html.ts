import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type EvalRecord, type ResultsHead, solved } from '../run/results.ts';
import { ece, reliability, type Interval, type Scored } from '../stats/index.ts';
import { escaped, comparisonCells, comparisonHead, flakeText, groupCells, groupHead, inOrder, junitXml, reportOf } from './text.ts';
import { type Comparison, type EvalReport, firstRound, type Group, saidOf } from './summary.ts';

const width = 640;
const left = 190;
const right = width - 20;
const rowHeight = 24;

function svg(height: number, title: string, parts: readonly string[]): string {
  return `<svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">${parts.join('')}</svg>`;
}

const line = (x1: number, y1: number, x2: number, y2: number, kind: string): string =>
  `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" class="${kind}"/>`;
const dot = (x: number, y: number): string => `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="4" class="dot"/>`;
const words = (x: number, y: number, anchor: string, text: string): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${escaped(text)}</text>`;

function intervals(
  title: string,
  rows: readonly { readonly name: string; readonly of: Interval }[],
  from: number,
  to: number,
  unit: string,
): string {
  const x = (value: number): number => left + ((value - from) / (to - from)) * (right - left);
  const height = rows.length * rowHeight + 36;
  const ticks = Array.from({ length: 5 }, (_, at) => from + ((to - from) * at) / 4);
  const axis = ticks.map(
    (value) =>
      `${line(x(value), 8, x(value), height - 22, 'grid')}${words(x(value), height - 6, 'middle', `${Math.round(value * 100) / 100}${unit}`)}`,
  );
  const drawn = rows.map(({ name, of: { value, low, high } }, at) => {
    const y = 20 + at * rowHeight;
    const label = words(left - 10, y + 4, 'end', name);
    return Number.isNaN(value) || Number.isNaN(low) ? label : `${label}${line(x(low), y, x(high), y, 'bar')}${dot(x(value), y)}`;
  });
  return svg(height, title, [...axis, ...drawn]);
}

const hundred = ({ value, low, high }: Interval): Interval => ({ value: value * 100, low: low * 100, high: high * 100 });

/** Share solved by pack and variant, with Wilson intervals. */
function solvedPlot(groups: readonly Group[]): string {
  return intervals(
    'solved, percent',
    groups.map(({ pack, variant, solved }) => ({ name: `${pack} ${variant}`, of: hundred(solved) })),
    0,
    100,
    ' %',
  );
}

/** Difference of shares by comparison, with bootstrap intervals; zero in the middle. */
function pairedPlot(comparisons: readonly Comparison[]): string {
  const rows = comparisons.map(({ first, second, difference }) => ({ name: `${second} − ${first}`, of: hundred(difference) }));
  const most = Math.max(5, ...rows.flatMap(({ of }) => [Math.abs(of.low), Math.abs(of.high)]).filter((value) => !Number.isNaN(value)));
  return intervals('difference of shares solved, points', rows, -most, most, '');
}

/** Plots how many tasks were solved within so many candidates, by variant, as a share of all, from the first round. */
function triesPlot(all: readonly EvalRecord[]): string {
  const records = firstRound(all);
  const height = 240;
  const variants = [...Map.groupBy(records, ({ variant }) => variant)];
  const most = Math.max(2, ...records.filter(solved).map(({ usage }) => usage.candidates));
  const x = (tries: number): number => left + (Math.log(Math.max(1, tries)) / Math.log(most)) * (right - left);
  const y = (share: number): number => 200 - share * 190;
  const grid = [0, 0.5, 1].map(
    (share) => `${line(left, y(share), right, y(share), 'grid')}${words(left - 8, y(share) + 4, 'end', `${share * 100} %`)}`,
  );
  const ticks = [1, 3, 10, 30, 100, 300].filter((tries) => tries <= most).map((tries) => words(x(tries), 220, 'middle', String(tries)));
  const curves = variants.map(([name, some], at) => {
    const tries = some
      .filter(solved)
      .map(({ usage }) => usage.candidates)
      .sort((a, b) => a - b);
    const points = tries.map((value, rank) => `${x(value).toFixed(1)},${y((rank + 1) / some.length).toFixed(1)}`);
    const [first] = tries;
    const from = first === undefined ? '' : `${x(first).toFixed(1)},${y(0).toFixed(1)} `;
    return `<polyline points="${from}${points.join(' ')}" class="curve c${at % 6}"/>${words(8, 24 + at * 18, 'start', name).replace('<text', `<text class="t${at % 6}"`)}`;
  });
  return svg(height, 'solved by number of candidates', [
    ...grid,
    ...ticks,
    words((left + right) / 2, 237, 'middle', 'candidates tried'),
    ...curves,
  ]);
}

/** Plots predictions for candidates against results, in bins of equal count. Empty without enough of them. */
function reliabilityPlot(items: readonly Scored[]): string {
  if (items.length < 20) return '<p>Fewer than 20 candidates had a probability; there is nothing to draw.</p>';
  const place = (said: number, was: number): readonly [number, number] => [left + said * 300, 310 - was * 300];
  const bins = reliability(items);
  const dots = bins.map(({ said, was }) => dot(...place(said, was)));
  const path = bins
    .map(({ said, was }) =>
      place(said, was)
        .map((value) => value.toFixed(1))
        .join(','),
    )
    .join(' ');
  const frame = [
    line(...place(0, 0), ...place(1, 1), 'grid'),
    line(...place(0, 0), ...place(1, 0), 'grid'),
    line(...place(0, 0), ...place(0, 1), 'grid'),
  ];
  const labels = [
    words(left + 150, 340, 'middle', 'said'),
    words(left - 8, 160, 'end', 'was'),
    words(left + 320, 40, 'start', `ECE ${ece(items).toFixed(3)}, n = ${items.length}`),
  ];
  return svg(350, 'reliability of the probabilities', [...frame, `<polyline points="${path}" class="curve c0"/>`, ...dots, ...labels]);
}

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

/** Returns one file that shows a whole run and needs no network. */
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

/** Writes `report.json`, `report.html` and `junit.xml` beside the results; the same records give the same bytes. */
export async function writeReports(folder: string, head: ResultsHead, records: readonly EvalRecord[]): Promise<EvalReport> {
  const sorted = inOrder(head, records);
  const report = reportOf(head, sorted);
  await writeFile(join(folder, 'report.json'), `${JSON.stringify(report, null, 2)}\n`);
  await writeFile(join(folder, 'report.html'), htmlReport(report, sorted));
  await writeFile(join(folder, 'junit.xml'), junitXml(sorted));
  return report;
}
