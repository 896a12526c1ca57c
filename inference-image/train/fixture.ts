import { groupsOf } from './energy/items.ts';
import type { DataSet } from './data/generate.ts';
import type { Trace } from './planner/traces.ts';

/** A small sample of the held-out part for the tests: states with a right candidate, and traces of one expert. */
export function fixtureOf(data: DataSet, traces: readonly Trace[]): object {
  const seen = new Set<string>();
  const groups = groupsOf(data.subjects, 'heldOut').filter(({ problem, depth, items }) => {
    const wanted = depth === 0 && items.some(({ right }) => right) && !seen.has(problem);
    if (wanted) seen.add(problem);
    return wanted;
  });
  const items = groups.slice(0, 8).flatMap((group) => {
    const right = group.items.filter((one) => one.right).slice(0, 1);
    const wrong = group.items.filter((one) => !one.right).slice(0, 4);
    return [...right, ...wrong];
  });
  const kept = traces.filter(({ split, experts, steps }) => split === 'heldOut' && experts === 1 && steps.length >= 10);
  return {
    energy: items.map(({ item, right, plausible }) => ({ item, right, plausible })),
    planner: kept.slice(0, 4).map(({ steps }) => steps.slice(0, 14)),
  };
}
