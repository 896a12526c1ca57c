/** Measures of scored items that only evaluations need. */
import type { Scored } from '@agentfleet/protocol/stats';
import type { Interval } from './interval.ts';
import { bootstrap, type BootstrapOptions } from './paired.ts';

export { auc, ece, reliability, type ReliabilityBin, type Scored } from '@agentfleet/protocol/stats';

/** Mean squared distance of the probability from the truth (Brier 1950). */
export function brier(items: readonly Scored[]): number {
  return items.reduce((sum, { score, right }) => sum + (score - Number(right)) ** 2, 0) / items.length;
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
