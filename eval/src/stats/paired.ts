/** Two variants on the same tasks. */
import type { Interval } from './interval.ts';
import { mean, quantile } from './order.ts';
import { resample, type Random } from './random.ts';

export interface McNemar {
  /** Pairs in which only the first one succeeded, and only the second one. */
  readonly onlyFirst: number;
  readonly onlySecond: number;
  /** Two-sided p of the exact test: the discordant pairs fall to either side with probability ½. */
  readonly p: number;
}

/** Exact McNemar test (McNemar 1947; the binomial form). Concordant pairs say nothing. */
export function mcNemar(pairs: readonly (readonly [boolean, boolean])[]): McNemar {
  const onlyFirst = pairs.filter(([one, other]) => one && !other).length;
  const onlySecond = pairs.filter(([one, other]) => !one && other).length;
  return { onlyFirst, onlySecond, p: mcNemarP(onlyFirst, onlySecond) };
}

/** p of the exact test for the two kinds of discordant pairs. */
export const mcNemarP = (one: number, other: number): number => Math.min(1, 2 * binomialTail(Math.min(one, other), one + other));

/** P(X ≤ most) for X of `trials` fair coins; by logarithms, so that many trials do not overflow. */
function binomialTail(most: number, trials: number): number {
  let logChoose = 0;
  let sum = 0;
  for (let k = 0; k <= most; k += 1) {
    if (k > 0) logChoose += Math.log(trials - k + 1) - Math.log(k);
    sum += Math.exp(logChoose - trials * Math.LN2);
  }
  return sum;
}

export interface BootstrapOptions {
  readonly random: Random;
  /** Default: 2000. */
  readonly resamples?: number;
  /** Default: 0.95. */
  readonly confidence?: number;
}

/** Percentile bootstrap (Efron 1979) of any statistic of items that are drawn as a whole. NaN draws are left out. */
export function bootstrap<T>(items: readonly T[], statistic: (some: readonly T[]) => number, options: BootstrapOptions): Interval {
  const { random, resamples = 2000, confidence = 0.95 } = options;
  const value = statistic(items);
  const draws = Array.from({ length: resamples }, () => statistic(resample(items, random))).filter((draw) => !Number.isNaN(draw));
  if (draws.length === 0) return { value, low: Number.NaN, high: Number.NaN };
  const tail = (1 - confidence) / 2;
  return { value, low: quantile(draws, tail), high: quantile(draws, 1 - tail) };
}

/** Mean of second − first over pairs, with its bootstrap interval. */
export function pairedDifference(pairs: readonly (readonly [number, number])[], options: BootstrapOptions): Interval {
  const differences = pairs.map(([one, other]) => other - one);
  return bootstrap(differences, mean, options);
}
