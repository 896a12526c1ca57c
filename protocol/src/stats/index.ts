/** Statistics that operator, workers, evaluations and training share. Pure; imports nothing. */

/** Estimates from samples, and how sure they are. */

/** An estimate and the bounds of its interval, 95 % unless said otherwise. */
export interface Interval {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** Two-sided 95 % of a normal distribution. */
const z95 = 1.959_963_984_540_054;

/**
 * Wilson's score interval of a share (Wilson 1927), which holds near 0 and 1 and for few trials.
 *
 * @throws RangeError for numbers that are no share
 */
export function wilson(successes: number, trials: number, z = z95): Interval {
  if (!(successes >= 0 && successes <= trials))
    throw new RangeError(`${successes} of ${trials} is no share; give counts, the first not above the second`);
  if (trials === 0) return { value: Number.NaN, low: 0, high: 1 };
  const share = successes / trials;
  const square = z * z;
  const middle = (share + square / (2 * trials)) / (1 + square / trials);
  const half = (z / (1 + square / trials)) * Math.sqrt((share * (1 - share)) / trials + square / (4 * trials * trials));
  return { value: share, low: successes === 0 ? 0 : middle - half, high: successes === trials ? 1 : middle + half };
}

/** Mean; NaN of nothing. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Quantile 0 … 1 with linear interpolation (type 7 of Hyndman and Fan); NaN of nothing. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const low = sorted[Math.floor(at)];
  const high = sorted[Math.ceil(at)];
  return low === undefined || high === undefined ? Number.NaN : low + (high - low) * (at - Math.floor(at));
}

/** Measures of how well scores separate right from wrong, and how true probabilities are. */

/** A score (higher: rather right), or a probability of being right, and the truth. */
export interface Scored {
  readonly score: number;
  readonly right: boolean;
  /** Problem that it belongs to: items of one problem are alike, so intervals draw whole problems. */
  readonly problem?: string;
}

/**
 * Area under the ROC curve: P(a right one scores above a wrong one), ties count half (Mann–Whitney). NaN where one class is absent.
 *
 * @throws RangeError for a score that is no number
 */
export function auc(items: readonly Scored[]): number {
  refuseNaN(items);
  const sorted = items.toSorted((a, b) => a.score - b.score);
  const right = items.filter((item) => item.right).length;
  const wrong = items.length - right;
  let ranks = 0;
  for (let at = 0; at < sorted.length;) {
    let end = at;
    while (end < sorted.length && sorted[end]?.score === sorted[at]?.score) end += 1;
    const rank = (at + 1 + end) / 2;
    ranks += rank * sorted.slice(at, end).filter((item) => item.right).length;
    at = end;
  }
  return right === 0 || wrong === 0 ? Number.NaN : (ranks - (right * (right + 1)) / 2) / (right * wrong);
}

/** A bin of a reliability diagram. */
export interface ReliabilityBin {
  readonly count: number;
  /** Mean probability that was said. */
  readonly said: number;
  /** Share that was right. */
  readonly was: number;
}

/** Items by probability, in bins of equal count (± 1); items of equal probability may be parted, in the order given. */
export function reliability(items: readonly Scored[], bins = 10): ReliabilityBin[] {
  refuseNaN(items);
  const outside = items.find(({ score }) => score < 0 || score > 1);
  if (outside !== undefined) throw new RangeError(`${outside.score} is no probability; calibrate the scores first`);
  const sorted = items.toSorted((a, b) => a.score - b.score);
  const edges = Array.from({ length: bins + 1 }, (_, at) => Math.round((at * sorted.length) / bins));
  return edges.slice(1).flatMap((end, at) => {
    const some = sorted.slice(edges[at], end);
    if (some.length === 0) return [];
    const said = some.reduce((sum, { score }) => sum + score, 0) / some.length;
    return [{ count: some.length, said, was: some.filter(({ right }) => right).length / some.length }];
  });
}

/** Expected calibration error over bins of equal count: mean distance of what was said from what was. */
export function ece(items: readonly Scored[], bins = 10): number {
  const all = reliability(items, bins);
  return all.reduce((sum, { count, said, was }) => sum + count * Math.abs(said - was), 0) / items.length;
}

/** Brier score: mean squared distance of what was said from what was (G. Brier, Monthly Weather Review 78, 1950). NaN for no items. */
export function brier(items: readonly Scored[]): number {
  refuseNaN(items);
  return items.reduce((sum, { score, right }) => sum + (score - Number(right)) ** 2, 0) / items.length;
}

function refuseNaN(items: readonly Scored[]): void {
  const at = items.findIndex(({ score }) => Number.isNaN(score));
  if (at !== -1) throw new RangeError(`the score of item ${at} is NaN; look for the features or weights that made it`);
}
