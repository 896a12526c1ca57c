import type { Ran } from './checkRun.ts';

/** A trial may take this many times as long as the check at the baseline, and at least so many seconds on a busy node. */
const times = 10;
const leastSeconds = 10;

/**
 * Returns the seconds that a check of a candidate may take: a candidate whose loop never ends must not cost the whole time
 * of the check, which is minutes where the task does not say. Infinite where the baseline does not show how long the tests
 * take: they did not all run to their end there.
 */
export function trialSeconds(baseline: readonly Pick<Ran, 'end' | 'results' | 'millis'>[]): number {
  const ran = ({ end, results }: (typeof baseline)[number]): boolean =>
    !end.timedOut &&
    end.killed === null &&
    results.complete &&
    results.evidence === 'Tests' &&
    results.tests.every(({ kind, outcome }) => kind !== 'Container' && outcome !== 'Errored');
  if (baseline.length === 0 || !baseline.every(ran)) return Number.POSITIVE_INFINITY;
  return Math.max(leastSeconds, Math.ceil((times * Math.max(...baseline.map(({ millis }) => millis))) / 1000));
}
