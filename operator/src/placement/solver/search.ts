// operator, placement/solver: exact branch-and-bound search over placements. Imports nothing of other folders.
import { addedCost, holeOf, imbalanceOf, scoreOf, weights, Occupancy, sameSlots, addedTerms } from './cost.ts';
import type { Model, ModelItem, LatencyClass } from './problem.ts';

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

  /** Reports whether an empty slot is taken although a lower one that looks the same is empty as well. */
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

/** Parts of the bound that depend on which items remain and not on where the placed ones are: one entry per depth. */
interface PairBounds {
  /** Least cost of all pairs of items from this depth on: either they share a slot or they are a hop apart. */
  readonly pairs: readonly number[];
  /** Share of all healthy memory that all items take together. */
  readonly share: number;
}

/** Prepares {@link leastCost} for items in the order in which they are placed. */
function pairBoundsOf(model: Model, items: readonly ModelItem[]): PairBounds {
  const nearest = nearestOf(model);
  const pairs = Array.from({ length: items.length + 1 }, () => 0);
  for (let depth = items.length - 1; depth >= 0; depth -= 1) {
    let sum = pairs[depth + 1] ?? 0;
    for (let later = depth + 1; later < items.length; later += 1) sum += leastOfPair(items[depth], items[later], nearest);
    pairs[depth] = sum;
  }
  const usable = model.slots.reduce((sum, slot) => sum + (slot.healthy ? slot.usableBytes : 0), 0);
  const bytes = items.reduce((sum, { item, shards }) => sum + item.bytes * shards, 0);
  return { pairs, share: usable === 0 ? 0 : bytes / usable };
}

/** Cost of the shortest hop between two slots; Infinity where there are fewer. A loop: a call takes no N² arguments. */
function nearestOf({ hops }: Model): number {
  let nearest = Infinity;
  for (const [a, row] of hops.entries()) for (const [b, cost] of row.entries()) if (a !== b && cost < nearest) nearest = cost;
  return nearest;
}

function leastOfPair(a: ModelItem | undefined, b: ModelItem | undefined, nearestHop: number): number {
  const weight = b === undefined ? 0 : (a?.traffic[b.index] ?? 0);
  if (a === undefined || b === undefined || weight === 0) return 0;
  const apart = weights.traffic * weight * nearestHop;
  return Math.min(apart, weights.interference * (a.interference[b.index] ?? 0));
}

/** Returns the cost that the items that are not placed yet add at the very least; Infinity when one of them has no place left. */
function leastCost(model: Model, occupancy: Occupancy, remaining: readonly ModelItem[], bounds: PairBounds, depth: number): number {
  let beside = 0;
  let calm = 0;
  for (const item of remaining) {
    let least = Infinity;
    let leastCalm = Infinity;
    for (const slots of item.choices) {
      if (occupancy.obstacle(item, slots) !== undefined) continue;
      const { traffic, interference, migration } = addedTerms(model, occupancy, item, slots);
      const quiet = weights.traffic * traffic + weights.migration * migration;
      leastCalm = Math.min(leastCalm, quiet);
      least = Math.min(least, quiet + weights.interference * interference);
    }
    if (least === Infinity) return Infinity;
    beside += least;
    calm += leastCalm;
  }
  const crowding = calm + weights.interference * leastCrowding(model, occupancy, remaining);
  return Math.max(beside + (bounds.pairs[depth] ?? 0), crowding) + leastSpread(model, occupancy, bounds.share);
}

/** Least cost of the terms hole and imbalance: the emptiest slot only fills, and the fullest holds the average at least. */
function leastSpread(model: Model, occupancy: Occupancy, share: number): number {
  let least = Infinity;
  let most = share;
  model.slots.forEach((slot, index) => {
    if (!slot.healthy || slot.usableBytes === 0) return;
    const taken = occupancy.bytes(index) / slot.usableBytes;
    least = Math.min(least, taken);
    most = Math.max(most, taken);
  });
  // hole = least, imbalance = most − least
  return least === Infinity ? 0 : (weights.hole - weights.imbalance) * least + weights.imbalance * most;
}

/**
 * The interference of a pair as a sum over classes that it belongs to: 0.3 for any two, 1.7 more when neither is tiny, 1
 * more when both decode. Each of these sums has a least value of its own.
 */
const layers: readonly (readonly [number, (latency: LatencyClass) => boolean])[] = [
  [0.3, () => true],
  [1.7, (latency) => latency !== 'Tiny'],
  [1, (latency) => latency === 'Decode'],
];

/**
 * Interference that the remaining items cannot avoid by their number alone: spread as evenly as can be over all slots
 * beside those that are placed. Members of a group do not count, as they may join one that is placed.
 */
function leastCrowding(model: Model, occupancy: Occupancy, remaining: readonly ModelItem[]): number {
  let sum = 0;
  for (const [cost, belongs] of layers) {
    const counts = model.slots.flatMap((slot, index) => (slot.healthy ? [countOf(model, occupancy, index, belongs)] : []));
    for (const { item, shards } of remaining)
      if (item.group === undefined && belongs(item.latency)) sum += cost * addToLeast(counts, shards);
  }
  return sum;
}

/** Adds one tenant to each of the `shards` slots with the fewest; returns with how many it shares them. */
function addToLeast(counts: number[], shards: number): number {
  let shared = 0;
  const taken = new Set<number>();
  for (let shard = 0; shard < shards; shard += 1) {
    let least = -1;
    for (let slot = 0; slot < counts.length; slot += 1)
      if (!taken.has(slot) && (least < 0 || (counts[slot] ?? 0) < (counts[least] ?? 0))) least = slot;
    if (least < 0) break;
    taken.add(least);
    shared += counts[least] ?? 0;
    counts[least] = (counts[least] ?? 0) + 1;
  }
  return shared;
}

function countOf(model: Model, occupancy: Occupancy, slot: number, belongs: (latency: LatencyClass) => boolean): number {
  return occupancy.tenants(slot).filter((tenant) => belongs(model.items[tenant]?.item.latency ?? 'Tiny')).length;
}

type Slots = readonly (readonly number[] | undefined)[];

/** Rounds after which it stops even if another one might help. */
const maxRounds = 20;

/**
 * Moves single items and exchanges pairs as long as that makes a placement cheaper. What it gives is a good first answer
 * for the search to beat; it proves nothing. Deterministic.
 */
function improve(model: Model, items: readonly ModelItem[], placement: Slots): Slots {
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
function* neighbours(model: Model, items: readonly ModelItem[], placement: Slots): Generator<Slots> {
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
