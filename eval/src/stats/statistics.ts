import { mean, quantile, wilson, type Interval, type Scored } from '@agentfleet/protocol/stats';

/** Numbers in [0, 1), the same for the same seed everywhere. */
export type Random = () => number;

/** mulberry32 (T. Ettinger, public domain): 32 bits of state, enough to resample and to draw samples; never for secrets. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Draws as many with replacement as there are items. */
export function resample<T>(items: readonly T[], random: Random): T[] {
  return items.map(() => items[Math.floor(random() * items.length)] as T);
}

export interface McNemar {
  /** Pairs in which only the first one succeeded, and only the second one. */
  readonly onlyFirst: number;
  readonly onlySecond: number;
  /** Two-sided p of the exact test: the discordant pairs fall to either side with probability ½. */
  readonly p: number;
}

/** Exact McNemar test (McNemar 1947; the binomial form). Concordant pairs have no information. */
export function mcNemar(pairs: readonly (readonly [boolean, boolean])[]): McNemar {
  const onlyFirst = pairs.filter(([one, other]) => one && !other).length;
  const onlySecond = pairs.filter(([one, other]) => !one && other).length;
  return { onlyFirst, onlySecond, p: mcNemarP(onlyFirst, onlySecond) };
}

/** p of the exact test for the two kinds of discordant pairs. */
const mcNemarP = (one: number, other: number): number => Math.min(1, 2 * binomialTail(Math.min(one, other), one + other));

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

interface BootstrapOptions {
  readonly random: Random;
  /** Default: 2000. */
  readonly resamples?: number;
}

/** Percentile bootstrap (Efron 1979) of any statistic of items that are drawn as a whole. NaN draws are left out. */
export function bootstrap<T>(items: readonly T[], statistic: (some: readonly T[]) => number, options: BootstrapOptions): Interval {
  const { random, resamples = 2000 } = options;
  const value = statistic(items);
  const draws = Array.from({ length: resamples }, () => statistic(resample(items, random))).filter((draw) => !Number.isNaN(draw));
  if (draws.length === 0) return { value, low: Number.NaN, high: Number.NaN };
  const tail = (1 - 0.95) / 2;
  return { value, low: quantile(draws, tail), high: quantile(draws, 1 - tail) };
}

/** Mean of second − first over pairs, with its bootstrap interval. */
export function pairedDifference(pairs: readonly (readonly [number, number])[], options: BootstrapOptions): Interval {
  const differences = pairs.map(([one, other]) => other - one);
  return bootstrap(differences, mean, options);
}

/** A measure of scored items with a bootstrap interval that draws whole problems. */
export function scoredInterval(
  items: readonly Scored[],
  measure: (some: readonly Scored[]) => number,
  options: BootstrapOptions,
): Interval {
  const problems = [...Map.groupBy(items, (item) => item.problem ?? item).values()];
  return bootstrap(problems, (some) => measure(some.flat()), options);
}

/** P(X = k) for k = 0…n of X ~ Bin(n, p); by logarithms, so that many trials do not overflow. */
function binomial(trials: number, p: number): readonly number[] {
  if (p <= 0 || p >= 1) return Array.from({ length: trials + 1 }, (_, k) => Number(k === (p <= 0 ? 0 : trials)));
  let logChoose = 0;
  return Array.from({ length: trials + 1 }, (_, k) => {
    if (k > 0) logChoose += Math.log(trials - k + 1) - Math.log(k);
    return Math.exp(logChoose + k * Math.log(p) + (trials - k) * Math.log(1 - p));
  });
}

const alpha = 0.05;

/**
 * Returns, for each number of discordant pairs, the most of the rarer kind at which the test finds a difference; -1: it
 * never does.
 */
function criticals(most: number): readonly number[] {
  const found: number[] = [];
  let rarer = -1;
  for (let differ = 0; differ <= most; differ += 1) {
    while (mcNemarP(rarer + 1, differ - rarer - 1) < alpha && 2 * (rarer + 1) < differ) rarer += 1;
    found.push(rarer);
  }
  return found;
}

/**
 * Power of the exact two-sided McNemar test at 5 %: so many pairs, the share of them that differ at all, and the difference of the two
 * success rates (at most that share).
 */
export function mcNemarPower(pairs: number, discordant: number, difference: number, rarest = criticals(pairs)): number {
  if (discordant === 0) return 0;
  const toSecond = (1 + difference / discordant) / 2;
  return binomial(pairs, discordant).reduce((power, weight, differ) => {
    const rarer = rarest[differ] ?? -1;
    if (weight < 1e-12 || rarer < 0) return power;
    const found = binomial(differ, toSecond).reduce((sum, p, second) => sum + (Math.min(second, differ - second) <= rarer ? p : 0), 0);
    return power + weight * found;
  }, 0);
}

const wanted = 0.8;
const halvings = 12;

/**
 * Returns the smallest difference of success rates that so many pairs detect with a power of 80 %, given how many of
 * them differed; 0 to 1, NaN where even a difference of all is not detected. Without differing pairs, all differences
 * are assumed in one direction, which is the best case.
 */
export function detectable(pairs: number, seen: number): number {
  const rarest = criticals(pairs);
  const powerOf = (difference: number): number => mcNemarPower(pairs, Math.max(difference, seen / pairs), difference, rarest);
  if (pairs === 0 || powerOf(1) < wanted) return Number.NaN;
  let [low, high] = [0, 1];
  for (let at = 0; at < halvings; at += 1) {
    const middle = (low + high) / 2;
    if (powerOf(middle) < wanted) low = middle;
    else high = middle;
  }
  return high;
}

/** Fewest trials, none of which fails, whose upper Wilson bound of 95 % is within a share. */
export function cleanTrials(share: number): number {
  let trials = 1;
  while (wilson(0, trials).high > share) trials += 1;
  return trials;
}
