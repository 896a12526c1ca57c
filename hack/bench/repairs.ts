import { type Candidate, type FailingTest, generateBounds } from '@agentfleet/protocol/inference';
import type { RankingContext } from '../../agent-image/src/attempt/ports.ts';
import { suspicionOf } from '../../agent-image/src/search/localise.ts';
import { localise, type Case, type Corpus, patched } from '../../inference-image/src/engines/synth/evaluation/evaluate.ts';
import type { SynthEngine } from '../../inference-image/src/engines/synth/index.ts';

/** A bug with one request's worth of proposals, in the order of the expert, and which of them pass all tests. */
export interface Repair {
  readonly language: string;
  readonly candidates: readonly Candidate[];
  readonly passed: readonly boolean[];
  readonly context: RankingContext;
}

/** Asks Synth about each bug that it was not tuned on, and runs the tests on every proposal. */
export async function heldOutRepairs(synth: SynthEngine, corpus: Corpus): Promise<readonly Repair[]> {
  const repairs: Repair[] = [];
  for (const subject of await corpus.cases('heldout')) repairs.push(await repairOf(synth, corpus, subject));
  return repairs;
}

async function repairOf(synth: SynthEngine, corpus: Corpus, subject: Case): Promise<Repair> {
  const { runs } = await corpus.execute(subject, [], true);
  const files = [{ path: subject.path, content: subject.source }];
  const localisation = localise(subject, runs);
  const request = {
    requestId: subject.name,
    role: 'Generalist',
    goal: 'Make the failing tests pass.',
    step: 0,
    grammar: 'Edit',
    files,
    localisation,
    k: generateBounds.maxCandidates,
    maxEdits: 1,
    exclude: [],
    seed: 0,
    budgetMillis: generateBounds.maxBudgetMillis,
  } as const;
  const [outcome] = await synth.generate([{ ...request, exclude: [] }], new AbortController().signal);
  if (outcome === undefined || 'error' in outcome) throw new Error(`Synth refused ${subject.name}`, { cause: outcome?.error });
  const { candidates } = outcome.answer;
  const texts = candidates.map((candidate) => patched(subject, candidate));
  const { passed } = await corpus.execute(subject, texts, false);
  const failing: readonly FailingTest[] = localisation.failingTests;
  const context = { files, failing, suspicion: suspicionOf(localisation.spectrum), trialSeconds: null };
  return { language: corpus.language, candidates, passed, context };
}
