import { leastCost, pairBoundsOf, type PairBounds } from './bound.ts';
import { addedCost, holeOf, imbalanceOf, scoreOf, weights } from './cost.ts';
import { improve } from './improve.ts';
import type { Model, ModelItem } from './model.ts';
import { Occupancy, sameSlots } from './occupancy.ts';

/** A placement that the search found: slots of each item of the model, undefined for items that were left out. */
export interface Found {
  readonly placement: readonly (readonly number[] | undefined)[];
  readonly cost: number;
}

export interface SearchResult {
  /** The best placement, absent when the items do not fit together (or `maxSteps` ended the search too early, see `proved`). */
  readonly best: Found | undefined;
  /** False when `maxSteps` ended the search: then a better placement may exist, of which `bound` is the least cost. */
  readonly proved: boolean;
  readonly bound: number;
  readonly steps: number;
}

export interface SearchOptions {
  readonly maxSteps: number;
  /** Ends at the first placement that fits, whatever it costs. */
  readonly feasibility?: boolean;
}

/** A cost that differs by less is the same: sums of floats in another order differ by some 1e-15. */
const epsilon = 1e-9;

/**
 * Branch and bound over items in the model's order, with the first placement improved by moves and exchanges. Exact: a
 * branch is cut only when it cannot be better than the best, or mirrors one that is searched (equal items, equal empty
 * slots). Deterministic: no clock, no chance.
 */
export function search(model: Model, items: readonly ModelItem[], options: SearchOptions): SearchResult {
  return new Search(model, items, options).run();
}

class Search {
  readonly #model: Model;
  readonly #items: readonly ModelItem[];
  readonly #options: SearchOptions;
  readonly #occupancy: Occupancy;
  readonly #same: readonly (number | undefined)[];
  readonly #bounds: PairBounds;
  readonly #chosen: number[] = [];
  #best: Found | undefined;
  #steps = 0;

  constructor(model: Model, items: readonly ModelItem[], options: SearchOptions) {
    this.#model = model;
    this.#items = items;
    this.#options = options;
    this.#occupancy = new Occupancy(model);
    this.#bounds = pairBoundsOf(model, items);
    this.#same = items.map((item, depth) => previousEqual(items, item, depth));
  }

  run(): SearchResult {
    const bound = leastCost(this.#model, this.#occupancy, this.#items, this.#bounds, 0);
    this.#keepCurrent();
    this.#descend(0, 0);
    const proved = this.#steps < this.#options.maxSteps;
    return { best: this.#best, proved, steps: this.#steps, bound: proved ? (this.#best?.cost ?? bound) : bound };
  }

  /** Staying where all items are is the first to beat: what is no better than that never moves anything. */
  #keepCurrent(): void {
    const added: ModelItem[] = [];
    let cost = 0;
    for (const item of this.#items) {
      const slots = item.choices.find((choice) => item.current !== undefined && sameSlots(choice, item.current));
      if (slots === undefined || this.#occupancy.obstacle(item, slots) !== undefined) break;
      cost += addedCost(this.#model, this.#occupancy, item, slots);
      this.#occupancy.add(item, slots);
      added.push(item);
    }
    if (added.length === this.#items.length && added.length > 0) this.#keep(cost);
    for (const item of added.reverse()) this.#occupancy.remove(item);
  }

  #descend(depth: number, cost: number): void {
    if (this.#ended()) return;
    const item = this.#items[depth];
    if (item === undefined) {
      this.#keep(cost);
      return;
    }
    this.#steps += 1;
    if (!this.#promising(cost, depth)) return;
    for (const { position, slots, added } of this.#branches(item, depth)) {
      this.#chosen[depth] = position;
      this.#occupancy.add(item, slots);
      this.#descend(depth + 1, cost + added);
      this.#occupancy.remove(item);
    }
  }

  #ended(): boolean {
    return this.#steps >= this.#options.maxSteps || (this.#options.feasibility === true && this.#best !== undefined);
  }

  #promising(cost: number, depth: number): boolean {
    const least = leastCost(this.#model, this.#occupancy, this.#items.slice(depth), this.#bounds, depth);
    return cost + least < (this.#best?.cost ?? Infinity) - epsilon;
  }

  /** Choices that are possible and no mirror of another one, the cheapest first, then the fullest slot that fits. */
  #branches(item: ModelItem, depth: number): readonly Branch[] {
    const same = this.#same[depth];
    const from = same === undefined ? 0 : (this.#chosen[same] ?? 0);
    const branches: Branch[] = [];
    item.choices.forEach((slots, position) => {
      if (position < from || this.#mirrors(slots) || this.#occupancy.obstacle(item, slots) !== undefined) return;
      branches.push({
        position,
        slots,
        added: addedCost(this.#model, this.#occupancy, item, slots),
        shortage: this.#shortage(item, slots),
      });
    });
    return branches.sort((a, b) => a.added - b.added || b.shortage - a.shortage || a.position - b.position);
  }

  #shortage(item: ModelItem, slots: readonly number[]): number {
    return Math.max(...slots.map((slot) => this.#occupancy.shortage(item, slot)));
  }

  /** Whether an empty slot is taken although a lower one that looks the same is empty as well. */
  #mirrors(slots: readonly number[]): boolean {
    const { twin } = this.#model;
    return slots.some((slot) => {
      if (this.#occupancy.tenants(slot).length > 0) return false;
      for (let lower = twin[slot] ?? slot; lower < slot; lower += 1)
        if (twin[lower] === twin[slot] && this.#occupancy.tenants(lower).length === 0 && !slots.includes(lower)) return true;
      return false;
    });
  }

  #keep(cost: number): void {
    const { hole, imbalance } = weights;
    const total = cost + hole * holeOf(this.#model, this.#occupancy) + imbalance * imbalanceOf(this.#model, this.#occupancy);
    if (total >= (this.#best?.cost ?? Infinity) - epsilon) return;
    const first = this.#best === undefined;
    this.#best = { placement: this.#occupancy.placement(), cost: total };
    if (!first || this.#options.feasibility === true) return;
    const placement = improve(this.#model, this.#items, this.#best.placement);
    const improved = scoreOf(this.#model, new Occupancy(this.#model), placement).total;
    if (improved < total - epsilon) this.#best = { placement, cost: improved };
  }
}

interface Branch {
  readonly position: number;
  readonly slots: readonly number[];
  readonly added: number;
  readonly shortage: number;
}

/** The depth of the last item before this one that differs from it in nothing but its name. */
function previousEqual(items: readonly ModelItem[], item: ModelItem, depth: number): number | undefined {
  for (let earlier = depth - 1; earlier >= 0; earlier -= 1) {
    const other = items[earlier];
    if (other !== undefined && equal(other, item)) return earlier;
  }
  return undefined;
}

function equal(a: ModelItem, b: ModelItem): boolean {
  if (a.current !== undefined || b.current !== undefined || a.item.group !== undefined || b.item.group !== undefined) return false;
  const { bytes, latency, exclusive = false } = a.item;
  if (bytes !== b.item.bytes || latency !== b.item.latency || exclusive !== (b.item.exclusive ?? false)) return false;
  if (a.choices.length !== b.choices.length || !a.choices.every((slots, position) => sameSlots(slots, b.choices[position] ?? [])))
    return false;
  if (a.apart.size > 0 || b.apart.size > 0) return false;
  return a.traffic.every((weight, index) => index === a.index || index === b.index || weight === b.traffic[index]);
}
