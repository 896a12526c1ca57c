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
 * @throws RangeError for numbers that are no counts
 */
export function wilson(successes: number, trials: number, z = z95): Interval {
  if (!Number.isInteger(successes) || !Number.isInteger(trials) || successes < 0 || successes > trials)
    throw new RangeError(`${successes} of ${trials} is no share; give whole numbers, the first not above the second`);
  if (trials === 0) return { value: Number.NaN, low: 0, high: 1 };
  const share = successes / trials;
  const square = z * z;
  const middle = (share + square / (2 * trials)) / (1 + square / trials);
  const half = (z / (1 + square / trials)) * Math.sqrt((share * (1 - share)) / trials + square / (4 * trials * trials));
  return { value: share, low: successes === 0 ? 0 : middle - half, high: successes === trials ? 1 : middle + half };
}
