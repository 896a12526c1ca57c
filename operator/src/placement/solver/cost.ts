import type { Model, ModelItem } from './model.ts';
import { sameSlots, type Occupancy } from './occupancy.ts';
import type { Score } from './problem.ts';

/** What a unit of each term costs. */
export const weights = { traffic: 10, interference: 6, migration: 4, hole: 2, imbalance: 1 } as const;

/**
 * What placing the item there adds to the terms that only grow: traffic to placed items, interference with tenants of its
 * slots, and migration. Members of one group are one engine and do not disturb each other.
 */
export function addedCost(model: Model, occupancy: Occupancy, item: ModelItem, slots: readonly number[]): number {
  const { traffic, interference, migration } = addedTerms(model, occupancy, item, slots);
  return weights.traffic * traffic + weights.interference * interference + weights.migration * migration;
}

export function addedTerms(
  model: Model,
  occupancy: Occupancy,
  item: ModelItem,
  slots: readonly number[],
): Pick<Score, 'traffic' | 'interference' | 'migration'> {
  let traffic = 0;
  for (const other of item.peers) {
    const at = occupancy.placed(other);
    if (at !== undefined) traffic += (item.traffic[other] ?? 0) * nearestHop(model, slots, at);
  }
  let interference = 0;
  for (const slot of slots) for (const tenant of occupancy.tenants(slot)) interference += item.interference[tenant] ?? 0;
  const moved = item.current !== undefined && !sameSlots(item.current, slots);
  return { traffic, interference, migration: moved ? item.migration : 0 };
}

function nearestHop(model: Model, from: readonly number[], to: readonly number[]): number {
  let nearest = Infinity;
  for (const a of from) for (const b of to) nearest = Math.min(nearest, model.hops[a]?.[b] ?? Infinity);
  return nearest;
}

/** 1 − the largest free share of a healthy slot: room for a canary. It only grows while items are added. */
export function holeOf(model: Model, occupancy: Occupancy): number {
  let largest = 0;
  model.slots.forEach((slot, index) => {
    if (slot.healthy && slot.usableBytes > 0) largest = Math.max(largest, 1 - occupancy.bytes(index) / slot.usableBytes);
  });
  return 1 - largest;
}

/** Difference between the fullest and the emptiest healthy slot, as shares of their memory. */
export function imbalanceOf(model: Model, occupancy: Occupancy): number {
  let least = Infinity;
  let most = 0;
  model.slots.forEach((slot, index) => {
    if (!slot.healthy || slot.usableBytes === 0) return;
    const share = occupancy.bytes(index) / slot.usableBytes;
    least = Math.min(least, share);
    most = Math.max(most, share);
  });
  return least === Infinity ? 0 : most - least;
}

/** The score of a whole placement, by items in the model's order; items without slots are left out. */
export function scoreOf(model: Model, occupancy: Occupancy, placement: readonly (readonly number[] | undefined)[]): Score {
  let traffic = 0;
  let interference = 0;
  let migration = 0;
  const placed = model.items.filter((item) => placement[item.index] !== undefined);
  for (const item of placed) {
    const slots = placement[item.index] ?? [];
    const added = addedTerms(model, occupancy, item, slots);
    traffic += added.traffic;
    interference += added.interference;
    migration += added.migration;
    occupancy.add(item, slots);
  }
  const hole = holeOf(model, occupancy);
  const imbalance = imbalanceOf(model, occupancy);
  for (const item of placed.reverse()) occupancy.remove(item);
  return { traffic, interference, migration, hole, imbalance, total: totalOf({ traffic, interference, migration, hole, imbalance }) };
}

function totalOf(terms: Omit<Score, 'total'>): number {
  return (
    weights.traffic * terms.traffic +
    weights.interference * terms.interference +
    weights.migration * terms.migration +
    weights.hole * terms.hole +
    weights.imbalance * terms.imbalance
  );
}
