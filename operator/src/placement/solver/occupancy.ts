import type { Model, ModelItem } from './model.ts';
import type { Obstacle } from './problem.ts';

/** Who is on which slot while a placement is put together. Adding and removing costs nothing but the slots touched. */
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
    const { exclusive, shared } = this.#model.headroom;
    return Math.floor((this.#model.slots[slot]?.usableBytes ?? 0) * (1 - (tenants > 1 ? shared : exclusive)));
  }

  /** Bytes by which the slot is too small for the item beside its tenants; 0 or less when it fits. */
  shortage(item: ModelItem, slot: number): number {
    return this.bytes(slot) + item.item.bytes - this.limit(slot, this.tenants(slot).length + 1);
  }

  /** What keeps the item from these slots, given who is placed; undefined when nothing does. */
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
