import type { Ranked, Ranking } from '../attempt/mind.ts';
import { weighedGain, weighedShare } from './prior.ts';

/**
 * The best first: by energy where the verifier answered, ties by the expert's own order. Without energies the expert's order
 * decides, weighed by the likelihoods that a language model gave. The margin is the gap of the two best in nats.
 *
 * @param weighGains whether likelihoods count beside the energies too, because the verifier does not read them
 */
export function ordered(candidates: readonly Ranked[], weighGains: boolean): Ranking {
  const energies = candidates.some(({ energy }) => energy !== null);
  const weighed = candidates.some(({ features }) => features.likelihoodGain !== undefined);
  const gainOf = ({ features }: Ranked): number => (weighGains ? weighedGain(features.likelihoodGain) : 0);
  const cost = (one: Ranked): number => (energies ? (one.energy ?? Number.POSITIVE_INFINITY) - gainOf(one) : expertCost(one));
  const byRank = (a: Ranked, b: Ranked): number => a.candidate.rank - b.candidate.rank;
  const ranked = candidates.toSorted((a, b) => (energies || weighed ? byCost(cost(a), cost(b)) : 0) || byRank(a, b));
  const [first, second] = ranked;
  const gap = first === undefined || second === undefined ? null : cost(second) - cost(first);
  return { ranked, margin: gap === null || !Number.isFinite(gap) ? null : Math.max(0, gap) };
}

/** −ln of the expert's share, with the likelihood in it: both are nats, so their gap is a margin. */
function expertCost({ candidate, features }: Ranked): number {
  return -weighedShare(candidate.score, features.likelihoodGain);
}

/** Infinities differ by nothing. */
const byCost = (a: number, b: number): number => (a === b ? 0 : a - b);
