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

/** What only one comparison in a thousand finds by chance: so far may counts be apart without another distribution. */
const z999 = 3.090_232_306;

/**
 * Population stability index of counts in bins against those of a reference in the same bins; half a count is added to each.
 * Between samples of one distribution it is about χ² with one less degree of freedom than there are bins, times 1/n + 1/m
 * (B. Yurdakul, Statistical properties of population stability index, 2018): `chance` is its 99.9th percentile, with the
 * quantile of χ² by Wilson and Hilferty (PNAS 17, 1931).
 * @returns undefined for no count, and for other numbers of bins
 */
export function binnedIndex(
  reference: readonly number[],
  live: readonly number[],
): { readonly value: number; readonly chance: number } | undefined {
  const [n, m] = [reference, live].map((bins) => bins.reduce((total, count) => total + count, 0)) as [number, number];
  if (reference.length !== live.length || !(n > 0 && m > 0)) return undefined;
  const share = (count: number, total: number): number => (count + 0.5) / (total + 0.5 * reference.length);
  const value = reference.reduce((all, count, bin) => {
    const [expected, actual] = [share(count, n), share(live[bin] ?? 0, m)];
    return all + (actual - expected) * Math.log(actual / expected);
  }, 0);
  // Bins that nobody uses are no freedom.
  const used = reference.filter((count, bin) => count + (live[bin] ?? 0) > 0).length;
  const freedom = Math.max(1, used - 1);
  const cube = 1 - 2 / (9 * freedom) + z999 * Math.sqrt(2 / (9 * freedom));
  return { value, chance: freedom * cube ** 3 * (1 / n + 1 / m) };
}

/** The value below which a share `p` of the sample lies, interpolated; undefined for none. */
export function quantile(values: readonly number[], p: number): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const place = p * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
  return low === undefined || high === undefined ? undefined : low + (high - low) * (place - Math.floor(place));
}
