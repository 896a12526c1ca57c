import { addedTerms, weights } from './cost.ts';
import type { Model, ModelItem } from './model.ts';
import type { Occupancy } from './occupancy.ts';
import type { LatencyClass } from './problem.ts';

/** Parts of the bound that depend on which items remain and not on where the placed ones are: one entry per depth. */
export interface PairBounds {
  /** Least cost of all pairs of items from this depth on: either they share a slot or they are a hop apart. */
  readonly pairs: readonly number[];
  /** Share of all healthy memory that all items take together. */
  readonly share: number;
}

/** Prepares {@link leastCost} for items in the order in which they are placed. */
export function pairBoundsOf(model: Model, items: readonly ModelItem[]): PairBounds {
  const nearest = Math.min(...model.hops.flatMap((row, a) => row.filter((_, b) => a !== b)), Infinity);
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

function leastOfPair(a: ModelItem | undefined, b: ModelItem | undefined, nearestHop: number): number {
  const weight = b === undefined ? 0 : (a?.traffic[b.index] ?? 0);
  if (a === undefined || b === undefined || weight === 0) return 0;
  const apart = weights.traffic * weight * nearestHop;
  return Math.min(apart, weights.interference * (a.interference[b.index] ?? 0));
}

/** What the items that are not placed yet add at the very least; Infinity when one of them has no place left. */
export function leastCost(model: Model, occupancy: Occupancy, remaining: readonly ModelItem[], bounds: PairBounds, depth: number): number {
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
