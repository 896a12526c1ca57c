// Program repair by the Synth engine on bugs of our own, beside a random order of the same
// candidates. Run: node inference-image/bench/synth.ts [--verbose]
import { performance } from 'node:perf_hooks';
import { argv, stdout } from 'node:process';
import { halves, readCases } from '../src/engines/synth/python/evaluation/cases.ts';
import { evaluate, type Result } from '../src/engines/synth/python/evaluation/evaluate.ts';
import { installedGrammar, PythonParser } from '../src/engines/synth/python/parser.ts';
import { SynthEngine } from '../src/engines/synth/synth.ts';

const tries = 100;
const now = (): number => performance.now();

function solved(ranks: readonly (number | null)[], within: number): string {
  const count = ranks.filter((rank) => rank !== null && rank <= within).length;
  return `${count}/${ranks.length}`;
}

/** Median with what was never found as the last; "–" when that is the middle. */
function median(ranks: readonly (number | null)[]): string {
  const sorted = ranks.map((rank) => rank ?? Infinity).sort((a, b) => a - b);
  const middle = sorted[Math.floor((sorted.length - 1) / 2)] ?? Infinity;
  return middle === Infinity ? `> ${tries}` : String(middle);
}

function row(name: string, ranks: readonly (number | null)[]): string {
  const cells = [1, 5, 20, 100].map((within) => solved(ranks, within).padStart(6));
  return `${name.padEnd(20)} ${cells.join('  ')}  median ${median(ranks)}`;
}

async function bench(half: (typeof halves)[number]): Promise<void> {
  const engine = new SynthEngine({ parser: await PythonParser.load(installedGrammar()), modelDigest: `sha256:${'0'.repeat(64)}`, now });
  const results: Result[] = [];
  for (const subject of await readCases(half)) results.push(await evaluate(subject, { engine, tries, baseline: true, now }));
  await engine.close();
  const millis = results.reduce((sum, result) => sum + result.millis, 0);
  const pool = results.reduce((sum, result) => sum + result.pool, 0);
  const ranks = results.map((result) => result.rank);
  const random = results.map((result) => result.randomRank);
  stdout.write(`\n${half}: ${results.length} bugs        @1      @5     @20    @100\n`);
  stdout.write(`${row('Synth', ranks)}\n${row('random order', random)}\n`);
  stdout.write(`letter by letter the author's repair: ${results.filter((result) => result.exact).length}; `);
  stdout.write(`${Math.round(pool / results.length)} candidates, ${(millis / results.length).toFixed(1)} ms per request (k = 64), `);
  stdout.write(`${Math.round((pool / millis) * 1000)} candidates/s\n`);
  if (!argv.includes('--verbose')) return;
  for (const { name, kind, rank, randomRank, exact, operator, pool } of results)
    stdout.write(
      `  ${name.padEnd(18)} ${kind.padEnd(28)} ${rank ?? '–'} (${randomRank ?? '–'}) of ${pool} ${operator ?? ''}${exact ? ' exact' : ''}\n`,
    );
}

const chosen = halves.filter((half) => argv.length <= 2 || !halves.some((name) => argv.includes(name)) || argv.includes(half));
for (const half of chosen) await bench(half);
