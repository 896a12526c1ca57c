import type { ShadowReport } from '@agentfleet/protocol/api';
import { probabilityBin, probabilityBins } from '@agentfleet/protocol/inference';

/** Verdict of a verifier alone on an act. Abstain: it is not calibrated. */
export type Verdict = 'Pass' | 'Warn' | 'Veto' | 'Abstain';

/** A verdict, and the probability that it was made of. */
export interface Judged {
  readonly verdict: Verdict;
  readonly pSuccess: number | null;
}

/** Values that a copy is compared by; never contents. */
export interface Comparison {
  /** Whether the first candidates are the same; undefined: one of them has none. */
  readonly sameCandidate?: boolean;
  readonly acts?: readonly { readonly stable: Judged; readonly shadow: Judged }[];
}

/** Beyond it nothing is added: the most that the status may hold. */
const most = 2_147_483_647;

type Counter = Exclude<keyof ShadowReport, 'rollout' | 'stableBins' | 'shadowBins'>;

/** Counts of nothing. Pure. */
export function noCounts(rollout: string): ShadowReport {
  return {
    rollout,
    answered: 0,
    failed: 0,
    dropped: 0,
    candidates: 0,
    sameCandidates: 0,
    bothVetoed: 0,
    onlyStableVetoed: 0,
    onlyShadowVetoed: 0,
    neitherVetoed: 0,
  };
}

/** Counts with some more of each. Pure. */
export function plus(counts: ShadowReport, more: Readonly<Partial<Record<Counter, number>>>): ShadowReport {
  const sums = Object.entries(more).map(([name, value]) => [
    name,
    Math.min(most, counts[name as Counter] + Math.max(0, Math.round(value))),
  ]);
  return { ...counts, ...(Object.fromEntries(sums) as Partial<ShadowReport>) };
}

/** Returns the counts with a comparison added. Pure. */
export function compared(counts: ShadowReport, { sameCandidate, acts = [] }: Comparison): ShadowReport {
  const begun = sameCandidate === undefined ? counts : plus(counts, { candidates: 1, sameCandidates: Number(sameCandidate) });
  return acts.reduce((sum, { stable, shadow }) => binned(plus(sum, actCounts(stable, shadow)), stable, shadow), begun);
}

/** Returns the probabilities of an act by both; none when one of them abstains. */
function probabilities(stable: Judged, shadow: Judged): readonly [number, number] | undefined {
  const [p, q] = [stable.pSuccess, shadow.pSuccess];
  return stable.verdict === 'Abstain' || shadow.verdict === 'Abstain' || p === null || q === null ? undefined : [p, q];
}

function binned(counts: ShadowReport, stable: Judged, shadow: Judged): ShadowReport {
  const found = probabilities(stable, shadow);
  if (found === undefined) return counts;
  const [stableBins, shadowBins] = [more(counts.stableBins, found[0]), more(counts.shadowBins, found[1])];
  return { ...counts, stableBins, shadowBins };
}

function more(bins: readonly number[] = Array.from({ length: probabilityBins }, () => 0), probability: number): number[] {
  const bin = probabilityBin(probability);
  return bins.map((count, at) => (at === bin ? Math.min(most, count + 1) : count));
}

function actCounts(stable: Judged, shadow: Judged): Readonly<Partial<Record<Counter, number>>> {
  if (probabilities(stable, shadow) === undefined) return {};
  const [mine, theirs] = [stable.verdict === 'Veto', shadow.verdict === 'Veto'];
  if (mine && theirs) return { bothVetoed: 1 };
  if (mine) return { onlyStableVetoed: 1 };
  if (theirs) return { onlyShadowVetoed: 1 };
  return { neitherVetoed: 1 };
}
