import { featureSet, type EnergyScore, type ScoreItem, type ScoreResponse } from '@agentfleet/protocol/inference';
import type { VerifierEndpoint } from '@agentfleet/protocol/pool';
import { abstention, compareActs } from './opinion.ts';
import type { Fleet } from './fleet.ts';

/**
 * Requests energies by id, in batches of the verifier's size. Null without a verifier or an answer: energies of one
 * batch alone would rank the others last for no reason.
 */
export async function askScores(fleet: Fleet, items: readonly ScoreItem[]): Promise<ReadonlyMap<string, EnergyScore> | null> {
  const scores = await scoresOrSilence(fleet, items);
  return scores === null || typeof scores === 'string' ? null : scores;
}

/** Like {@link askScores}, with the reason for the verifier's silence; null: the pool has none. */
export async function scoresOrSilence(
  fleet: Fleet,
  items: readonly ScoreItem[],
): Promise<ReadonlyMap<string, EnergyScore> | string | null> {
  const { verifier } = fleet;
  if (verifier === undefined) return null;
  const manner = {
    timeoutMillis: verifier.timeoutMillis,
    without: verifier.whenUnavailable === 'Degrade' ? 'the expert orders, the rules decide' : 'the expert orders, gate 2 is closed',
  };
  const scores = new Map<string, EnergyScore>();
  for (let at = 0; at < items.length; at += verifier.batchMax) {
    const request = { requestId: fleet.requestId, featureSet, items: items.slice(at, at + verifier.batchMax) };
    const compare = (answer: ScoreResponse, shadow: ScoreResponse, other: VerifierEndpoint): ReturnType<typeof compareActs> =>
      compareActs(request.items, { verifier, answer }, { verifier: other, answer: shadow }, fleet.options.now?.() ?? null);
    const answer = await fleet.ask(verifier, 'Score', { ...request, featureSet }, { ...manner, compare });
    if (typeof answer === 'string') return answer;
    const why = abstention(verifier.calibration, answer.calibration ?? null, fleet.options.now?.() ?? null);
    if (why !== null) fleet.tell(verifier, `${why}; it ranks and vetoes nothing`);
    for (const score of answer.scores) scores.set(score.id, why === null ? score : { ...score, pSuccess: null });
    fleet.learnReads(answer.reads);
    fleet.learnCalibration(answer.calibration ?? null);
  }
  return scores;
}
