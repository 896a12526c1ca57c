import { priorBounds, type Candidate } from '@agentfleet/protocol/inference';
import type { RankingContext } from '../attempt/ports.ts';
import type { Fleet } from './fleet.ts';

/** A likelihood rarely puts the right one first: half of the trials that a perfect order would save. */
const efficiency = 0.5;

/** No answer is possible in less, ms. */
const leastMillis = 100;

interface PriorQuestion {
  /** Shares of the candidates in the whole mass of the expert, the best first. */
  readonly shares: readonly number[];
  /** Median wall time of one trial, seconds; null before the first. */
  readonly trialSeconds: number | null;
  /** Measured price per candidate, ms; null before the first answer. */
  readonly millisPerCandidate: number | null;
}

/**
 * Returns how many milliseconds a language model may spend on ordering candidates; 0: it does not pay.
 *
 * With the candidate at place i right with probability p_i (its share; the rest to 1 is the probability that none is
 * right, and then all are tried in any order), the expert's order costs Σ p_i·(i−1) trials before the right one, and a
 * perfect order none. Half of that is expected to be saved. It pays when saved trials × their measured wall time exceed
 * the measured price of all candidates. Before the price is known, the expected saving is the budget of the question,
 * so that measuring the price never costs more than it could save.
 */
export function priorBudget({ shares, trialSeconds, millisPerCandidate }: PriorQuestion): number {
  if (trialSeconds === null || shares.length < 2) return 0;
  const saved = efficiency * shares.reduce((sum, share, at) => sum + share * at, 0);
  const worth = Math.floor(saved * trialSeconds * 1000);
  if (worth < leastMillis) return 0;
  return millisPerCandidate === null || worth > millisPerCandidate * shares.length ? worth : 0;
}

/**
 * Weight of a gain in nats beside the expert's share: gains of a few tokens are noisy. The best of six weights on the
 * dev half of the bugs, in both languages (`inference-image/bench/llama.ts dev`; docs/measurements.md has the figures).
 */
const gainWeight = 0.1;
const maxGain = 6;

/** Returns what a gain adds to a candidate's score, nats; 0 for an unmeasured one. */
export function weighedGain(gainNats: number | undefined): number {
  return gainWeight * Math.max(-maxGain, Math.min(maxGain, gainNats ?? 0));
}

/** ln of a share that a likelihood was weighed into; unmeasured ones keep their share. */
export function weighedShare(share: number, gainNats: number | undefined): number {
  return Math.log(Math.max(share, Number.MIN_VALUE)) + weighedGain(gainNats);
}

/** Time beside the budget: the way there and back, and the queue; ms. */
const marginMillis = 2000;
/** Weight of the newest price. */
const newest = 0.3;

/** Likelihoods of candidates by a language model; requested only when the better order is worth the time. */
export class Likelihoods {
  readonly #fleet: Fleet;
  #millisPerCandidate: number | null = null;

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  /** Gains in nats by id, for those that were measured. */
  async of(candidates: readonly Candidate[], { files, trialSeconds }: RankingContext): Promise<ReadonlyMap<string, number>> {
    const { draft } = this.#fleet;
    const edited = candidates.filter(({ edits }) => edits.length > 0).slice(0, priorBounds.maxCandidates);
    const shares = edited.map(({ score }) => score);
    const budget = priorBudget({ shares, trialSeconds, millisPerCandidate: this.#millisPerCandidate });
    if (draft === undefined || budget === 0) return new Map();
    const paths = new Set(edited.flatMap(({ edits }) => edits.map(({ path }) => path)));
    const budgetMillis = Math.min(budget, priorBounds.maxBudgetMillis);
    const request = {
      requestId: this.#fleet.requestId,
      files: files.filter(({ path }) => paths.has(path)).slice(0, priorBounds.maxFiles),
      candidates: edited.map(({ id, edits }) => ({ id, edits: [...edits] })),
      windowTokens: priorBounds.defaultWindowTokens,
      budgetMillis,
    };
    if (request.files.length === 0) return new Map();
    const callOptions = { timeoutMillis: budgetMillis + marginMillis, without: 'no likelihoods' };
    const answer = await this.#fleet.ask(draft, 'Prior', request, callOptions);
    if (typeof answer === 'string') return new Map();
    const measured = answer.scores.flatMap(({ id, gainNats }) => (gainNats === null ? [] : [[id, gainNats] as const]));
    this.#learn(answer.millis / Math.max(1, measured.length));
    return new Map(measured);
  }

  #learn(millis: number): void {
    this.#millisPerCandidate = this.#millisPerCandidate === null ? millis : newest * millis + (1 - newest) * this.#millisPerCandidate;
  }
}

/** Cosine of two vectors of length 1, kept in −1…1 against rounding. */
export function cosine(a: readonly number[], b: readonly number[]): number {
  let sum = 0;
  for (const [at, value] of a.entries()) sum += value * (b[at] ?? 0);
  return Math.max(-1, Math.min(1, sum));
}
