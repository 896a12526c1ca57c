import { wilson, type Interval } from '@agentfleet/protocol/stats';

/**
 * Largest distance between the distribution functions of two samples, and the chance of one as large or larger when both
 * come from one distribution (two-sample Kolmogorov–Smirnov, asymptotic, with Stephens' correction for few samples).
 * @returns undefined when a sample is empty or holds what is no number
 */
export function kolmogorovSmirnov(
  a: readonly number[],
  b: readonly number[],
): { readonly distance: number; readonly p: number } | undefined {
  if (a.length === 0 || b.length === 0 || [...a, ...b].some((value) => !Number.isFinite(value))) return undefined;
  const [first, second] = [a.toSorted((x, y) => x - y), b.toSorted((x, y) => x - y)];
  let distance = 0;
  for (let i = 0, j = 0; i < first.length && j < second.length;) {
    const value = Math.min(first[i] ?? Infinity, second[j] ?? Infinity);
    while (i < first.length && first[i] === value) i += 1;
    while (j < second.length && second[j] === value) j += 1;
    distance = Math.max(distance, Math.abs(i / first.length - j / second.length));
  }
  const samples = Math.sqrt((first.length * second.length) / (first.length + second.length));
  return { distance, p: kolmogorovTail((samples + 0.12 + 0.11 / samples) * distance) };
}

function kolmogorovTail(x: number): number {
  if (x < 0.2) return 1;
  let sum = 0;
  for (let k = 1; k <= 100; k += 1) {
    const term = 2 * (k % 2 === 1 ? 1 : -1) * Math.exp(-2 * k * k * x * x);
    sum += term;
    if (Math.abs(term) < 1e-12) break;
  }
  return Math.min(1, Math.max(0, sum));
}

/**
 * Population stability index of counts in bins against those of a reference in the same bins; half a count is added to each.
 * Between samples of one distribution it is about χ² with one less degree of freedom than there are bins, times 1/n + 1/m
 * (B. Yurdakul, Statistical properties of population stability index, 2018): `chance` is its quantile `z` standard errors up, with the
 * quantile of χ² by Wilson and Hilferty (PNAS 17, 1931).
 * @returns undefined for no count, and for other numbers of bins
 */
export function binnedIndex(
  reference: readonly number[],
  live: readonly number[],
  z: number,
): { readonly value: number; readonly chance: number } | undefined {
  const [n, m] = [reference, live].map((bins) => bins.reduce((total, count) => total + count, 0)) as [number, number];
  if (reference.length !== live.length || !(n > 0 && m > 0)) return undefined;
  const share = (count: number, total: number): number => (count + 0.5) / (total + 0.5 * reference.length);
  const value = reference.reduce((all, count, bin) => {
    const [expected, actual] = [share(count, n), share(live[bin] ?? 0, m)];
    return all + (actual - expected) * Math.log(actual / expected);
  }, 0);
  // Bins without samples are no freedom.
  const used = reference.filter((count, bin) => count + (live[bin] ?? 0) > 0).length;
  const freedom = Math.max(1, used - 1);
  const cube = 1 - 2 / (9 * freedom) + z * Math.sqrt(2 / (9 * freedom));
  return { value, chance: freedom * cube ** 3 * (1 / n + 1 / m) };
}

/**
 * The standard normal distribution function, to 1e-15 for all x.
 * Series and continued fraction as in Marsaglia, "Evaluating the Normal Distribution", J. Stat. Software 11(4), 2004.
 */
export function normalCdf(x: number): number {
  if (x === Infinity) return 1;
  if (x === -Infinity) return 0;
  if (Math.abs(x) > 7) return x < 0 ? upperTail(-x) : 1 - upperTail(x);
  let sum = x;
  let term = x;
  for (let divisor = 3; Math.abs(term) > 1e-17 * Math.abs(sum); divisor += 2) {
    term *= (x * x) / divisor;
    sum += term;
    if (divisor > 1000) break;
  }
  return 0.5 + sum * normalDensity(x);
}

/** The tail beyond a large x by its continued fraction. */
function upperTail(x: number): number {
  let fraction = x;
  for (let level = 60; level >= 1; level -= 1) fraction = x + level / fraction;
  return normalDensity(x) / fraction;
}

export function normalDensity(x: number): number {
  return Math.exp(-0.5 * x * x) / Math.sqrt(2 * Math.PI);
}

/** Returns the x below which a share `p` of the standard normal distribution is. By bisection: to 1e-12. */
export function normalQuantile(p: number): number {
  if (!(p > 0 && p < 1)) return p <= 0 ? -Infinity : Infinity;
  let low = -40;
  let high = 40;
  for (let step = 0; step < 100; step += 1) {
    const middle = (low + high) / 2;
    if (normalCdf(middle) < p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Of pairs of yes and no: how often each of the four was said. */
export interface Table {
  readonly both: number;
  readonly onlyFirst: number;
  readonly onlySecond: number;
  readonly neither: number;
}

interface Kappa {
  readonly value: number;
  readonly lower: number;
  readonly upper: number;
}

/** Added to each cell for the limits: without it a few agreements and no disagreement would have no error at all. */
const prior = 0.5;

/**
 * Kappa of Cohen, and its limits `z` standard errors away (Cohen, Educational and Psychological Measurement 20, 1960), from
 * cells with a half more. Undefined where chance alone agrees always: both said the same of all, so that nothing is known of
 * the other answer.
 */
export function kappa(table: Table, z: number): Kappa | undefined {
  const found = of(table);
  if (found === undefined) return undefined;
  const { both, onlyFirst, onlySecond, neither } = table;
  const smoothed = of({ both: both + prior, onlyFirst: onlyFirst + prior, onlySecond: onlySecond + prior, neither: neither + prior });
  const { value, error } = smoothed ?? found;
  return { value: found.value, lower: value - z * error, upper: value + z * error };
}

function of({ both, onlyFirst, onlySecond, neither }: Table): { readonly value: number; readonly error: number } | undefined {
  const total = both + onlyFirst + onlySecond + neither;
  if (total === 0) return undefined;
  const [first, second] = [(both + onlyFirst) / total, (both + onlySecond) / total];
  const observed = (both + neither) / total;
  const expected = first * second + (1 - first) * (1 - second);
  if (expected >= 1) return undefined;
  const error = Math.sqrt((observed * (1 - observed)) / (total * (1 - expected) ** 2));
  return { value: (observed - expected) / (1 - expected), error };
}

/** One-sided 95 % of a normal distribution: what the gates ask for. */
export const z95 = 1.644_853_627;

/** Tasks that were judged, and how many of them passed. */
export interface Tally {
  readonly passed: number;
  readonly total: number;
}

/**
 * Returns the limit of the difference canary − `ratio` × stable that is `z` standard errors below the estimate (above it for
 * negative z): Newcombe's hybrid of Wilson's limits (Statistics in Medicine 17, 1998, method 10). It never leaves −ratio…1 and
 * holds its level near 0 and 1, where the usual one does not.
 */
export function differenceLimit(canary: Tally, stable: Tally, z: number, ratio = 1): number {
  if (canary.total === 0 || stable.total === 0) return z >= 0 ? -ratio : 1;
  const [c, s] = [canary, stable].map(({ passed, total }) => wilson(passed, total, Math.abs(z))) as [Interval, Interval];
  const difference = c.value - ratio * s.value;
  if (z >= 0) return difference - Math.hypot(c.value - c.low, ratio * (s.high - s.value));
  return difference + Math.hypot(c.high - c.value, ratio * (s.value - s.low));
}

/** Tasks of one arm that carry as much information about the difference as both arms do. */
export function effectiveSamples(canary: Tally, stable: Tally): number {
  if (canary.total === 0 || stable.total === 0) return 0;
  return 1 / (1 / canary.total + 1 / stable.total);
}

/** A histogram: observations up to each bound, the last bound Infinity. */
export type Cumulative = ReadonlyMap<number, number>;

/** Observations of a histogram. */
export function countOf(buckets: Cumulative): number {
  return Math.max(0, ...buckets.values());
}

/** The largest finite bound of a histogram; 0 where it has none. */
export function lastBound(buckets: Cumulative): number {
  return Math.max(0, ...[...buckets.keys()].filter(Number.isFinite));
}

/** The value of a rank of a histogram, evenly within a bucket as Prometheus reckons it; Infinity beyond all bounds. */
export function valueAt(buckets: Cumulative, rank: number): number {
  let [below, counted] = [0, 0];
  for (const [bound, count] of [...buckets].sort(([a], [b]) => a - b)) {
    if (count >= rank && count > counted)
      return Number.isFinite(bound) ? below + ((bound - below) * (rank - counted)) / (count - counted) : bound;
    [below, counted] = [bound, count];
  }
  return Infinity;
}

/** A quantile of a histogram, and its limits `z` standard errors of its rank away: no distribution is assumed. */
export function quantileLimits(buckets: Cumulative, share: number, z: number): Interval {
  const count = countOf(buckets);
  const [rank, error] = [count * share, z * Math.sqrt(count * share * (1 - share))];
  const of = (at: number): number => valueAt(buckets, Math.min(count, Math.max(0, at)));
  return { value: of(rank), low: of(rank - error), high: rank + error > count ? Infinity : of(rank + error) };
}
