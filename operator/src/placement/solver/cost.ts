// operator, placement/solver: cost terms of a placement and the occupancy of slots. Imports nothing of other folders.
import type { Model, ModelItem, Score, Obstacle } from './problem.ts';

/** Cost of a unit of each term. */
export const weights = { traffic: 10, interference: 6, migration: 4, hole: 2, imbalance: 1 } as const;

/** Share of a slot that stays free: of one with a single tenant, and of one with several. */
export const headroom = { exclusive: 0.03, shared: 0.08 } as const;

/**
 * Returns the cost that placing the item there adds to the terms that only grow: traffic to placed items, interference with
 * tenants of its slots, and migration. Members of one group are one engine and do not disturb each other.
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

/** Tenants of the slots while a placement is put together. Adding and removing costs nothing but the slots touched. */
export class Occupancy {
  readonly #model: Model;
  readonly #tenants: number[][];
  readonly #bytes: number[];
  readonly #placed: (readonly number[] | undefined)[];

  constructor(model: Model) {
    this.#model = model;
    this.#tenants = model.slots.map(() => []);
    this.#bytes = model.slots.map(() => 0);
    this.#placed = model.items.map(() => undefined);
  }

  add(item: ModelItem, slots: readonly number[]): void {
    this.#placed[item.index] = slots;
    for (const slot of slots) {
      this.#tenants[slot]?.push(item.index);
      this.#bytes[slot] = this.bytes(slot) + item.item.bytes;
    }
  }

  /** Removes the item that was added last. */
  remove(item: ModelItem): void {
    for (const slot of this.#placed[item.index] ?? []) {
      this.#tenants[slot]?.pop();
      this.#bytes[slot] = this.bytes(slot) - item.item.bytes;
    }
    this.#placed[item.index] = undefined;
  }

  placed(index: number): readonly number[] | undefined {
    return this.#placed[index];
  }

  placement(): readonly (readonly number[] | undefined)[] {
    return [...this.#placed];
  }

  tenants(slot: number): readonly number[] {
    return this.#tenants[slot] ?? [];
  }

  bytes(slot: number): number {
    return this.#bytes[slot] ?? 0;
  }

  /** Bytes that tenants may take on the slot when there are so many of them. */
  limit(slot: number, tenants: number): number {
    const free = tenants > 1 ? headroom.shared : headroom.exclusive;
    return Math.floor((this.#model.slots[slot]?.usableBytes ?? 0) * (1 - free));
  }

  /** Bytes by which the slot is too small for the item beside its tenants; 0 or less when it fits. */
  shortage(item: ModelItem, slot: number): number {
    return this.bytes(slot) + item.item.bytes - this.limit(slot, this.tenants(slot).length + 1);
  }

  /** Returns the obstacle that keeps the item from these slots, given the placed items; undefined when nothing does. */
  obstacle(item: ModelItem, slots: readonly number[]): Obstacle | undefined {
    for (const slot of slots) {
      for (const tenant of this.tenants(slot)) {
        const found = obstacleBetween(item, this.#model.items[tenant]);
        if (found !== undefined) return found;
      }
      if (this.shortage(item, slot) > 0) return 'NotEnoughMemory';
    }
    return this.#groupObstacle(item, slots) ?? this.#linkObstacle(item, slots);
  }

  #groupObstacle(item: ModelItem, slots: readonly number[]): Obstacle | undefined {
    const { group } = item.item;
    if (group === undefined) return undefined;
    for (const mate of this.#model.items) {
      const at = mate.item.group === group && mate.index !== item.index ? this.#placed[mate.index] : undefined;
      if (at !== undefined && !sameSlots(at, slots)) return 'GroupElsewhere';
    }
    return undefined;
  }

  #linkObstacle(item: ModelItem, slots: readonly number[]): Obstacle | undefined {
    const { problem, nvlinked, slots: all, isolating } = this.#model;
    if (problem.nvlink !== 'Required' && !isolating) return undefined;
    const alone = (slot: number): boolean => all[slot]?.isolated === true;
    for (const [index, at] of this.#placed.entries()) {
      if (at === undefined || (item.traffic[index] ?? 0) === 0) continue;
      const ruled = problem.nvlink === 'Required' || slots.some(alone) || at.some(alone);
      if (ruled && !slots.every((slot) => at.every((other) => nvlinked[slot]?.[other] === true))) return 'NotLinked';
    }
    return undefined;
  }
}

function obstacleBetween(item: ModelItem, other: ModelItem | undefined): Obstacle | undefined {
  if (other === undefined) return undefined;
  if (item.apart.has(other.index)) return 'Apart';
  const mates = item.item.group !== undefined && item.item.group === other.item.group;
  if (!mates && (item.item.exclusive === true || other.item.exclusive === true)) return 'Exclusive';
  return undefined;
}

export function sameSlots(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((slot, position) => slot === b[position]);
}
