// Measures how the likelihoods of a small language model change Synth's order, on bugs written for this project. Run:
// node inference-image/bench/llama.ts [python|javascript] [dev|heldout] [window] [--verbose], after node
// hack/bootstrap.mjs hack/images/main.ts llama.
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { argv, stdout } from 'node:process';
import type { Candidate } from '@agentfleet/protocol/inference';
import { createLlamaEngine, llamaWeights } from '../src/engines/llama/engine.ts';
import { halves, localise, type Case, type Corpus, patched } from '../src/engines/synth/evaluation/evaluate.ts';
import { Grammars, installedGrammars, SynthEngine } from '../src/engines/synth/index.ts';
import { javascriptCorpus } from '../src/engines/synth/javascript/evaluation/corpus.ts';
import { pythonCorpus } from '../src/engines/synth/python/evaluation/corpus.ts';

/** Candidates that the model looks at: the bound of a request. */
const looked = 64;
const shares = [0, 0.05, 0.1, 0.2, 0.4, 1];
const now = (): number => performance.now();
const { signal } = new AbortController();
const windowTokens = Number(argv.find((word) => /^\d+$/.test(word)) ?? 16);

interface Measured {
  readonly name: string;
  readonly energies: readonly number[];
  readonly gains: readonly number[];
  readonly passed: readonly boolean[];
}

const grammars = await Grammars.open(installedGrammars());
const synth = new SynthEngine({ grammars, modelDigest: `sha256:${'0'.repeat(64)}`, now });
const model = join(import.meta.dirname, '../llama/dist/weights', llamaWeights);
const loading = now();
const llama = await createLlamaEngine({ model, threads: 2, contextTokens: 2048, now });
stdout.write(`loaded in ${((now() - loading) / 1000).toFixed(1)} s, window ${windowTokens}\n`);
let [asked, millis] = [0, 0];

async function candidatesOf(corpus: Corpus, subject: Case): Promise<readonly Candidate[]> {
  const { runs } = await corpus.execute(subject, [], true);
  const files = [{ path: subject.path, content: subject.source }];
  const [outcome] = await synth.generate(
    [
      {
        requestId: subject.name,
        role: 'Generalist',
        goal: 'Make the failing tests pass.',
        step: 0,
        grammar: 'Edit',
        files,
        localisation: localise(subject, runs),
        k: looked,
        maxEdits: 1,
        exclude: [],
        seed: 0,
        budgetMillis: 60_000,
      },
    ],
    signal,
  );
  if (outcome === undefined || 'error' in outcome) throw new Error(`Synth refused ${subject.name}`, { cause: outcome?.error });
  return outcome.answer.candidates;
}

async function measure(corpus: Corpus, subject: Case): Promise<Measured> {
  const candidates = await candidatesOf(corpus, subject);
  const texts = candidates.map((candidate) => patched(subject, candidate));
  const { passed } = await corpus.execute(subject, texts, false);
  const files = [{ path: subject.path, content: subject.source }];
  const wanted = candidates.map(({ id, edits }) => ({ id, edits: [...edits] }));
  const answer = await llama.prior({ requestId: 'bench', files, candidates: wanted, windowTokens, budgetMillis: 60_000 }, signal);
  asked += candidates.length;
  millis += answer.millis;
  const gains = answer.scores.map(({ gainNats }) => gainNats ?? 0);
  return { name: subject.name, energies: candidates.map(({ energy = 0 }) => energy), gains, passed };
}

/** Rank of the first candidate that passes, by energy − share × gain; null when none does. */
function rank({ energies, gains, passed }: Measured, share: number): number | null {
  const cost = energies.map((energy, at) => (share === 1 ? 0 : energy) - share * (gains[at] ?? 0));
  const order = cost.map((_, at) => at).sort((a, b) => (cost[a] ?? 0) - (cost[b] ?? 0) || a - b);
  const found = order.findIndex((at) => passed[at]);
  return found === -1 ? null : found + 1;
}

function row(name: string, ranks: readonly (number | null)[]): string {
  const found = ranks.filter((one): one is number => one !== null).sort((a, b) => a - b);
  const within = [1, 5, 20].map((limit) => `${found.filter((one) => one <= limit).length}`.padStart(4));
  const mean = found.reduce((sum, one) => sum + one, 0) / found.length;
  const middle = found[Math.floor((found.length - 1) / 2)] ?? 0;
  return `${name.padEnd(28)} ${within.join(' ')}  median ${middle}  mean ${mean.toFixed(1)} of ${found.length} found\n`;
}

for (const corpus of [pythonCorpus, javascriptCorpus]) {
  if ((argv.includes('python') || argv.includes('javascript')) && !argv.includes(corpus.language.split(' ')[0]?.toLowerCase() ?? ''))
    continue;
  for (const half of halves) {
    if ((argv.includes('dev') || argv.includes('heldout')) && !argv.includes(half)) continue;
    const measured: Measured[] = [];
    for (const subject of await corpus.cases(half)) measured.push(await measure(corpus, subject));
    stdout.write(`\n${corpus.language}, ${half}: ${measured.length} bugs                @1   @5  @20\n`);
    for (const share of shares) {
      const name = share === 0 ? 'Synth' : share === 1 ? 'likelihood alone' : `energy − ${share} gain`;
      stdout.write(
        row(
          name,
          measured.map((one) => rank(one, share)),
        ),
      );
    }
    if (argv.includes('--verbose'))
      for (const one of measured) stdout.write(`  ${one.name.padEnd(24)} ${shares.map((share) => rank(one, share) ?? '–').join(' ')}\n`);
  }
}
stdout.write(
  `\n${asked} candidates, ${(millis / asked).toFixed(0)} ms each, ${(process.memoryUsage().rss / 1e6).toFixed(0)} MB resident\n`,
);
await synth.close();
await llama.close();
