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
