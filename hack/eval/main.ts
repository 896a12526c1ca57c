// `npm run eval [-- --write]` and `npm run eval:full`: measures by packs and makes the tables of docs/benchmarks.md.
// --only NAME runs one step; --write puts its tables into the document. Results and reports are in eval-results/.
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { run } from '@agentfleet/cli';
import {
  comparisonCells,
  comparisonHead,
  flakeText,
  groupCells,
  groupHead,
  markdownTable,
  readResults,
  reportOf,
  shareText,
} from '@agentfleet/eval';
import { stops, type LabelTally } from '@agentfleet/eval/judgements';
import { systemClock } from '@agentfleet/kube';
import { stepsOf, type EvalStep } from './plan.ts';
import { withTable } from './tables.ts';

const root = join(import.meta.dirname, '../..');
const document = join(root, 'docs', 'benchmarks.md');

const { values } = parseArgs({
  options: { full: { type: 'boolean', default: false }, write: { type: 'boolean', default: false }, only: { type: 'string' } },
});
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

async function fleet(argv: readonly string[]): Promise<number> {
  return run(argv, {
    env: { ...process.env, AGENTFLEET_CHECKOUT: root },
    clock: systemClock,
    random: Math.random,
    terminal: process.stdout.isTTY,
    signal: stop.signal,
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
  });
}

async function runTables(folder: string): Promise<string> {
  const { head, records } = await readResults(folder);
  const { groups, comparisons, flakes } = reportOf(head, records);
  const compared = comparisons.length === 0 ? [] : [markdownTable(comparisonHead, comparisons.map(comparisonCells))];
  return [markdownTable(groupHead, groups.map(groupCells)), ...compared, ...(flakes.pairs === 0 ? [] : [flakeText(flakes)])].join('\n\n');
}

async function judgeTables(folder: string, name: string): Promise<string> {
  const all = JSON.parse(await readFile(join(folder, `${name}.json`), 'utf8')) as Record<
    string,
    { readonly tallies: readonly LabelTally[] }
  >;
  const rows = Object.entries(all).flatMap(([variant, { tallies }]) =>
    tallies.map(({ label, entries, stopped, by }) => {
      const counts = stops.map((stop) => String(by[stop]));
      return [variant, label, String(entries), shareText(stopped), ...counts];
    }),
  );
  return markdownTable(['Variant', 'Label', 'Entries', 'Stopped', ...stops], rows);
}

/** Runs a step; its table, where it has one. */
async function measure({ name, kind, argv }: EvalStep): Promise<string | undefined> {
  const folder = join(root, 'eval-results', name);
  console.log(`\nfleet ${argv.join(' ')}\n`);
  if (kind !== 'verify') await rm(folder, { recursive: true, force: true });
  const status = await fleet(kind === 'verify' ? argv : [...argv, '--out', folder]);
  if (status !== 0) throw new Error(`fleet ${argv.join(' ')} ended with status ${status}; its words stand above`);
  if (kind === 'verify') return undefined;
  return kind === 'judge' ? judgeTables(folder, name) : runTables(folder);
}

const began = performance.now();
for (const step of stepsOf(values.full)) {
  if (values.only !== undefined && values.only !== step.name) continue;
  const table = await measure(step);
  if (table === undefined || !values.write) continue;
  const command = `\`fleet ${step.argv.join(' ')}\``;
  await writeFile(document, withTable(await readFile(document, 'utf8'), step.name, `${command}\n\n${table}`));
}
console.log(`${((performance.now() - began) / 60_000).toFixed(1)} min`);
