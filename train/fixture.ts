import type { ControlStep } from '@agentfleet/protocol/inference';
import { groupsOf } from './energy/items.ts';
import type { DataSet } from './data/generate.ts';
import type { Trace } from './planner/traces.ts';

/** A small sample of the held-out part for the tests: states with a right candidate, and every 36th trace. */
export function fixtureOf(data: DataSet, traces: readonly Trace[]): object {
  const seen = new Set<string>();
  const groups = groupsOf(data.subjects, 'heldOut').filter(({ problem, depth, items }) => {
    const wanted = depth === 0 && items.some(({ right }) => right) && !seen.has(problem);
    if (wanted) seen.add(problem);
    return wanted;
  });
  const items = groups.slice(0, 5).flatMap((group) => {
    const right = group.items.filter((one) => one.right).slice(0, 1);
    const wrong = group.items.filter((one) => !one.right).slice(0, 4);
    return [...right, ...wrong];
  });
  const heldOut = traces.filter(({ split }) => split === 'heldOut');
  const round = (step: ControlStep): object =>
    Object.fromEntries(Object.entries(step).map(([name, value]) => [name, typeof value === 'number' ? Number(value.toFixed(4)) : value]));
  return {
    energy: items.map(({ item, right, plausible }) => ({ item, right, plausible })),
    planner: heldOut.filter((_, at) => at % 36 === 0).map(({ steps }) => steps.slice(0, 8).map(round)),
  };
}
