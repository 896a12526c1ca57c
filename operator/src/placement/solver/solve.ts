// operator, placement/solver: entry point of the solver, with reasons. Imports nothing of other folders.
import { scoreOf, Occupancy } from './cost.ts';
import { modelOf, type Model, type ModelItem, ranks, type Assignment, type Problem, type Rejection, type Solution } from './problem.ts';
import { search, type Found, type SearchResult } from './search.ts';

/** Steps of the search after which it returns the best that it found and reports that it stopped early. */
export const defaultMaxSteps = 4000;

export interface SolveOptions {
  readonly maxSteps?: number;
}

/**
 * Places items on slots: exact, deterministic, and with the reason for every place that an item did not get. When not all
 * fit, the most important ones that fit together are placed (by rank, then as they need less).
 */
export function solve(problem: Problem, { maxSteps = defaultMaxSteps }: SolveOptions = {}): Solution {
  const model = modelOf(problem);
  const whole = search(model, model.items, { maxSteps });
  if (whole.best !== undefined || model.items.length === 0) return solutionOf(model, whole, []);
  const fitting = mostImportant(model, maxSteps);
  const part = search(model, fitting.items, { maxSteps });
  const left = byImportance(model).filter((item) => !fitting.items.includes(item));
  const steps = whole.steps + fitting.steps + part.steps;
  return solutionOf(model, { ...part, steps, proved: whole.proved && fitting.proved && part.proved }, left);
}

function byImportance(model: Model): readonly ModelItem[] {
  const rank = ({ item }: ModelItem): number => ranks.indexOf(item.rank);
  return [...model.items].sort((a, b) => rank(b) - rank(a) || a.item.bytes - b.item.bytes || a.index - b.index);
}

/** Takes items in, the most important first, as long as all that were taken fit together. */
function mostImportant(
  model: Model,
  maxSteps: number,
): { readonly items: readonly ModelItem[]; readonly steps: number; readonly proved: boolean } {
  let items: readonly ModelItem[] = [];
  let steps = 0;
  let proved = true;
  for (const item of byImportance(model)) {
    const tried = [...items, item].sort((a, b) => a.index - b.index);
    const result = search(model, tried, { maxSteps, feasibility: true });
    steps += result.steps;
    if (result.best !== undefined) items = tried;
    else proved &&= result.proved;
  }
  return { items, steps, proved };
}

function solutionOf(model: Model, result: SearchResult, left: readonly ModelItem[]): Solution {
  const placement = result.best?.placement ?? [];
  return {
    assignments: assignmentsOf(model, placement),
    score: scoreOf(model, new Occupancy(model), placement),
    feasible: left.length === 0,
    unplaced: left.map(({ item }) => item.name),
    rejections: left.flatMap((item) => rejectionsOf(model, item, placement)),
    proved: result.proved,
    bound: result.bound,
    steps: result.steps,
  };
}

function assignmentsOf(model: Model, placement: Found['placement']): readonly Assignment[] {
  return model.items
    .flatMap(({ item, index }) => {
      const slots = placement[index];
      return slots === undefined ? [] : [{ item: item.name, slots: slots.map((slot) => model.slots[slot]?.name ?? ''), bytes: item.bytes }];
    })
    .sort((a, b) => (a.item < b.item ? -1 : 1));
}

/** Returns the reasons why the item is on none of the slots beside those that are placed. */
function rejectionsOf(model: Model, item: ModelItem, placement: Found['placement']): readonly Rejection[] {
  const occupancy = new Occupancy(model);
  for (const placed of model.items) {
    const slots = placement[placed.index];
    if (slots !== undefined) occupancy.add(placed, slots);
  }
  const name = item.item.name;
  const known = new Set(model.slots.map((slot) => slot.name));
  const unknown = (item.item.slots ?? []).filter((slot) => !known.has(slot));
  const rejections = model.slots.map((slot, index): Rejection => {
    const base = { item: name, slot: slot.name };
    if (!slot.healthy) return { ...base, reason: 'Unhealthy' };
    if (item.item.slots !== undefined && !item.item.slots.includes(slot.name)) return { ...base, reason: 'NotAllowed' };
    return { ...base, ...whyNot(occupancy, item, index) };
  });
  return [...unknown.map((slot): Rejection => ({ item: name, slot, reason: 'UnknownSlot' })), ...rejections];
}

/** Returns the reason why a sound slot is not taken; where an item spans several, for the set with this slot that lacks least. */
function whyNot(occupancy: Occupancy, item: ModelItem, index: number): Pick<Rejection, 'reason' | 'shortByBytes'> {
  const lackOf = (slots: readonly number[]): number => Math.max(...slots.map((slot) => occupancy.shortage(item, slot)));
  const [nearest] = item.choices.filter((slots) => slots.includes(index)).sort((a, b) => lackOf(a) - lackOf(b));
  // However much room it has.
  if (nearest === undefined) return { reason: 'NotJoined' };
  const alone = occupancy.obstacle(item, [index]);
  const reason = alone ?? occupancy.obstacle(item, nearest) ?? 'NotLinked';
  return reason === 'NotEnoughMemory' ? { reason, shortByBytes: lackOf(alone === undefined ? nearest : [index]) } : { reason };
}
