import { scoreOf } from './cost.ts';
import type { Model, ModelItem } from './model.ts';
import { Occupancy } from './occupancy.ts';

type Slots = readonly (readonly number[] | undefined)[];

/** Rounds after which it stops even if another one might help. */
const maxRounds = 20;

/**
 * Moves single items and exchanges pairs as long as that makes a placement cheaper. What it gives is a good first answer
 * for the search to beat; it proves nothing. Deterministic.
 */
export function improve(model: Model, items: readonly ModelItem[], placement: Slots): Slots {
  let best = placement;
  let cost = scoreOf(model, new Occupancy(model), best).total;
  for (let round = 0; round < maxRounds; round += 1) {
    let better = false;
    for (const candidate of neighbours(model, items, best)) {
      const total = scoreOf(model, new Occupancy(model), candidate).total;
      if (total >= cost - 1e-9) continue;
      best = candidate;
      cost = total;
      better = true;
      break;
    }
    if (!better) return best;
  }
  return best;
}

/** Placements that differ by one item, or by two that exchanged their slots, and that fit. */
export function* neighbours(model: Model, items: readonly ModelItem[], placement: Slots): Generator<Slots> {
  for (const item of items)
    for (const slots of item.choices) {
      if (slots === placement[item.index]) continue;
      const candidate = placement.with(item.index, slots);
      if (fits(model, items, candidate)) yield candidate;
    }
  for (const [position, a] of items.entries())
    for (const b of items.slice(position + 1)) {
      const [first, second] = [placement[a.index], placement[b.index]];
      if (first === second || first === undefined || second === undefined) continue;
      if (!a.choices.includes(second) || !b.choices.includes(first)) continue;
      const candidate = placement.with(a.index, second).with(b.index, first);
      if (fits(model, items, candidate)) yield candidate;
    }
}

function fits(model: Model, items: readonly ModelItem[], placement: Slots): boolean {
  const occupancy = new Occupancy(model);
  return items.every((item) => {
    const slots = placement[item.index];
    if (slots === undefined || occupancy.obstacle(item, slots) !== undefined) return false;
    occupancy.add(item, slots);
    return true;
  });
}
