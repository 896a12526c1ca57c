import type { PoolDecisionModels } from '@agentfleet/agent/decision';
import type { PartsClient } from '@agentfleet/agent/experts';
import type { ScoreItem, ScoreRequest } from '@agentfleet/protocol/inference';
import { Grammars, installedGrammars, SynthEngine } from '../../inference-image/src/engines/synth/index.ts';
import { javascriptCorpus } from '../../inference-image/src/engines/synth/javascript/evaluation/corpus.ts';
import { pythonCorpus } from '../../inference-image/src/engines/synth/python/evaluation/corpus.ts';
import { BenchFleet } from './fleet.ts';
import { partRows } from './partRows.ts';
import { heldOutRepairs, type Repair } from './repairs.ts';
import { roundRows } from './roundRows.ts';
import type { Row } from './report/table.ts';
import { roundSize, triesRows, type RankedRepair } from './triesRows.ts';

/** Measures the cost and the benefit of the learned parts, with the committed weights, on servers of this machine. */
export async function fleetBench(): Promise<readonly Row[]> {
  const engine = new SynthEngine({
    grammars: await Grammars.open(installedGrammars()),
    modelDigest: `sha256:${'0'.repeat(64)}`,
    now: () => performance.now(),
  });
  const corpora = [pythonCorpus, javascriptCorpus];
  const repairs = (await Promise.all(corpora.map((corpus) => heldOutRepairs(engine, corpus)))).flat();
  await engine.close();
  const fleet = await BenchFleet.open();
  try {
    const items: ScoreItem[] = [];
    const ranked = await rankAll(fleet, repairs, items);
    return [
      ...(await partRows(fleet, items)),
      ...(await roundRows(fleet, repairs)),
      ...corpora.flatMap(({ language }) => triesRows(language, ranked)),
    ];
  } finally {
    await fleet[Symbol.asyncDispose]();
  }
}

/**
 * The energies of all, and in `items` what was scored for them. The embedder is asked about the first bug only: it takes most
 * of the time, and its feature weighs nothing as long as the energy model was trained without it.
 */
async function rankAll(fleet: BenchFleet, repairs: readonly Repair[], items: ScoreItem[]): Promise<readonly RankedRepair[]> {
  const decisionModels = fleet.decisionModels({ roles: [], parts: hearing(fleet.client, items) });
  const ranked: RankedRepair[] = [];
  for (const repair of repairs) ranked.push({ repair, energies: await energiesOf(decisionModels, repair) });
  if (decisionModels.degraded.length > 0) throw new Error(`not all parts answered: ${decisionModels.degraded.join('; ')}`);
  const [first] = ranked;
  const whole = first === undefined ? [] : await energiesOf(fleet.decisionModels(), first.repair);
  for (const [id, energy] of whole)
    if (first?.energies.get(id) !== energy) throw new Error('the embedder changes energies: ask it about all bugs in this bench');
  return ranked;
}

/** Energies of all proposals, asked for as many at a time as in a worker's round. */
async function energiesOf(decisionModels: PoolDecisionModels, { candidates, context }: Repair): Promise<ReadonlyMap<string, number>> {
  const energies = new Map<string, number>();
  for (let at = 0; at < candidates.length; at += roundSize) {
    const { ranked } = await decisionModels.rank(candidates.slice(at, at + roundSize), context);
    for (const { candidate, energy } of ranked) if (energy !== null) energies.set(candidate.id, energy);
  }
  return energies;
}

/** The same client, and what is to be scored is kept. */
function hearing(client: PartsClient, items: ScoreItem[]): Pick<PartsClient, 'ask'> {
  return {
    ask: (part, question) => {
      if (question.capability === 'Score') items.push(...(question.request as ScoreRequest).items);
      return client.ask(part, question);
    },
  };
}
