// Program repair by the Synth engine on bugs of our own, beside a random order of the same
// candidates. Run: node inference-image/bench/synth.ts [python|javascript] [dev|heldout] [--verbose]
import { performance } from 'node:perf_hooks';
import { argv, stdout } from 'node:process';
import { halves, type Corpus, type Half, evaluate, type Result } from '../src/engines/synth/evaluation/evaluate.ts';
import { Grammars, installedGrammars, SynthEngine } from '../src/engines/synth/index.ts';
import { javascriptCorpus } from '../src/engines/synth/javascript/evaluation/corpus.ts';
import { pythonCorpus } from '../src/engines/synth/python/evaluation/corpus.ts';

const tries = 100;
const now = (): number => performance.now();

function solved(ranks: readonly (number | null)[], within: number): string {
  const count = ranks.filter((rank) => rank !== null && rank <= within).length;
  return `${count}/${ranks.length}`;
}

/** Returns the median; ranks never found count as the last; "–" when the median is one of them. */
function median(ranks: readonly (number | null)[]): string {
  const sorted = ranks.map((rank) => rank ?? Infinity).sort((a, b) => a - b);
  const middle = sorted[Math.floor((sorted.length - 1) / 2)] ?? Infinity;
  return middle === Infinity ? `> ${tries}` : String(middle);
}

function row(name: string, ranks: readonly (number | null)[]): string {
  const cells = [1, 5, 20, 100].map((within) => solved(ranks, within).padStart(6));
  return `${name.padEnd(20)} ${cells.join('  ')}  median ${median(ranks)}`;
}

async function bench(corpus: Corpus, half: Half): Promise<void> {
  const grammars = await Grammars.open(installedGrammars());
  const engine = new SynthEngine({ grammars, modelDigest: `sha256:${'0'.repeat(64)}`, now });
  const results: Result[] = [];
  for (const subject of await corpus.cases(half)) results.push(await evaluate(subject, { engine, corpus, tries, baseline: true, now }));
  await engine.close();
  const millis = results.reduce((sum, result) => sum + result.millis, 0);
  const pool = results.reduce((sum, result) => sum + result.pool, 0);
  const ranks = results.map((result) => result.rank);
  const random = results.map((result) => result.randomRank);
  stdout.write(`\n${corpus.language}, ${half}: ${results.length} bugs\n`);
  stdout.write(`${''.padEnd(20)} ${['@1', '@5', '@20', '@100'].map((head) => head.padStart(6)).join('  ')}\n`);
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

const corpora: Readonly<Record<string, Corpus>> = { python: pythonCorpus, javascript: javascriptCorpus };

/** Returns the names in the arguments, or all. */
function chosen<Name extends string>(names: readonly Name[]): readonly Name[] {
  const named = names.filter((name) => argv.includes(name));
  return named.length === 0 ? names : named;
}

for (const name of chosen(Object.keys(corpora))) {
  for (const half of chosen(halves)) await bench(corpora[name] as Corpus, half);
}
