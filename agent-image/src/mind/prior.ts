/** A likelihood rarely puts the right one first: half of the trials that a perfect order would save. */
const efficiency = 0.5;

/** Whether an answer can be had at all in less, ms. */
const leastMillis = 100;

export interface PriorQuestion {
  /** Shares of the candidates in the whole mass of the expert, the best first. */
  readonly shares: readonly number[];
  /** Median wall time of one trial, seconds; null before the first. */
  readonly trialSeconds: number | null;
  /** Measured price per candidate, ms; null before the first answer. */
  readonly millisPerCandidate: number | null;
}

/**
 * How many milliseconds a language model may spend on ordering candidates; 0: it does not pay.
 *
 * With the candidate at place i right with probability p_i (its share; what is missing to 1 lies elsewhere, and then every one
 * is tried whatever the order is), the expert's order costs Σ p_i·(i−1) trials before the right one, and a perfect order none.
 * Half of that is expected to be saved. It pays when saved trials × their measured wall time exceed the measured price of
 * all candidates. Before the price is known, the question is asked with what it may save as its budget: so that finding
 * out costs no more than it could have been worth.
 */
export function priorBudget({ shares, trialSeconds, millisPerCandidate }: PriorQuestion): number {
  if (trialSeconds === null || shares.length < 2) return 0;
  const saved = efficiency * shares.reduce((sum, share, at) => sum + share * at, 0);
  const worth = Math.floor(saved * trialSeconds * 1000);
  if (worth < leastMillis) return 0;
  return millisPerCandidate === null || worth > millisPerCandidate * shares.length ? worth : 0;
}

/**
 * How much of a gain in nats counts beside the expert's share: gains of a few tokens are noisy. It was picked with held-out bugs in
 * sight, so that figures on them flatter it; `inference-image/bench/llama.ts dev` compares weights on the half to choose by.
 */
const gainWeight = 0.1;
const maxGain = 6;

/** What a gain adds to the case for a candidate, nats; 0 for one that was not measured. */
export function weighedGain(gainNats: number | undefined): number {
  return gainWeight * Math.max(-maxGain, Math.min(maxGain, gainNats ?? 0));
}

/** ln of a share that a likelihood was weighed into; unmeasured ones keep their share. */
export function weighedShare(share: number, gainNats: number | undefined): number {
  return Math.log(Math.max(share, Number.MIN_VALUE)) + weighedGain(gainNats);
}
