/** Measures of scored items that only evaluations need. */
import type { Scored } from '@agentfleet/protocol/stats';
import type { Interval } from './interval.ts';
import { bootstrap, type BootstrapOptions } from './paired.ts';

export { auc, brier, ece, reliability, type ReliabilityBin, type Scored } from '@agentfleet/protocol/stats';

/** A measure of scored items with a bootstrap interval that draws whole problems. */
export function scoredInterval(
  items: readonly Scored[],
  measure: (some: readonly Scored[]) => number,
  options: BootstrapOptions,
): Interval {
  const problems = [...Map.groupBy(items, (item) => item.problem ?? item).values()];
  return bootstrap(problems, (some) => measure(some.flat()), options);
}
