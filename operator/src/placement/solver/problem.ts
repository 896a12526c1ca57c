// operator, placement/solver: types of problem and solution, and the indexed model of a problem. Imports nothing of other folders.

/** A GPU by its logical name `<node>/gpu<n>`. */
export interface Slot {
  readonly name: string;
  readonly node: string;
  /** Bytes that tenants may use: the whole memory without the driver's reserve. */
  readonly usableBytes: number;
  /** False while a device taint, an XID error or a lost board keeps it from use. */
  readonly healthy: boolean;
  /** A MIG slice: nothing joins it to another slot, so that no item spans it and none talks across, whatever links are declared. */
  readonly isolated?: boolean;
}

/** Link that joins two GPUs, as `nvidia-smi topo -m` names it; NVLink without its number of links. */
export type LinkType = 'NV' | 'PIX' | 'PXB' | 'PHB' | 'NODE' | 'SYS';

export interface Link {
  readonly a: string;
  readonly b: string;
  readonly type: LinkType;
}

/** Class of the work on a GPU, by what it disturbs: `Decode` is bound by latency, `Score` runs in batches, `Tiny` is hardly felt. */
export type LatencyClass = 'Decode' | 'Score' | 'Tiny';

/** Order of preemption when a slot is lost; the later in this list, the longer an engine stays. Held: of others, not to be moved. */
export const ranks = ['Canary', 'Specialist', 'Draft', 'Planner', 'Verifier', 'Core', 'Held'] as const;
export type Rank = (typeof ranks)[number];

/** An engine that needs GPU memory. */
export interface Item {
  readonly name: string;
  /** Bytes on each of its slots. */
  readonly bytes: number;
  /** Number of slots that it spans; above 1 they are of one node and all joined by NVLink, unless links are ignored. Default 1. */
  readonly shards?: number;
  readonly latency: LatencyClass;
  readonly rank: Rank;
  /** Slots that it may be on, when the user lists them. One name pins it. */
  readonly slots?: readonly string[];
  /** Has its slots to itself, apart from items of the same group. */
  readonly exclusive?: boolean;
  /** Items of one group are on the same slots: a draft inside the engine of its target. */
  readonly group?: string;
  /** Never on a slot of these items: the stable and the canary revision of one verifier. */
  readonly apart?: readonly string[];
  /** Seconds that it takes to be served from elsewhere. Default 60. */
  readonly migrationSeconds?: number;
}

/** Two items that talk to one another; `weight` is relative to other pairs. */
export interface Traffic {
  readonly a: string;
  readonly b: string;
  readonly weight: number;
}

export type NvlinkRule = 'Preferred' | 'Required' | 'Ignore';

/** Slots of each item. */
export type Placement = ReadonlyMap<string, readonly string[]>;

export interface Problem {
  readonly slots: readonly Slot[];
  /** Pairs that are not named are joined by `SYS`. */
  readonly links: readonly Link[];
  readonly items: readonly Item[];
  readonly traffic: readonly Traffic[];
  /** Places of the items now. */
  readonly current: Placement;
  /** `Required`: items with traffic are joined by NVLink or share a slot. `Ignore`: links cost nothing, and shards need none. */
  readonly nvlink: NvlinkRule;
}

/** Reason why an item cannot be on a slot. */
export type Obstacle =
  'NotEnoughMemory' | 'Unhealthy' | 'NotAllowed' | 'Exclusive' | 'Apart' | 'NotLinked' | 'NotJoined' | 'UnknownSlot' | 'GroupElsewhere';

export interface Rejection {
  readonly item: string;
  readonly slot: string;
  readonly reason: Obstacle;
  /** With `NotEnoughMemory`: bytes that the slot lacks beside its tenants. */
  readonly shortByBytes?: number;
}

export interface Assignment {
  readonly item: string;
  readonly slots: readonly string[];
  readonly bytes: number;
}

/** Cost of a placement by term, lower is better; see `cost.ts` for units. */
export interface Score {
  readonly traffic: number;
  readonly interference: number;
  readonly migration: number;
  readonly hole: number;
  readonly imbalance: number;
  readonly total: number;
}

export interface Solution {
  /** Whether every item has its place. */
  readonly feasible: boolean;
  /** Of all items when feasible; else of the most important ones that fit together. */
  readonly assignments: readonly Assignment[];
  /** Items without a place, the most important first. */
  readonly unplaced: readonly string[];
  /** For each unplaced item and each slot: why not. */
  readonly rejections: readonly Rejection[];
  readonly score: Score;
  /** False when the search ended at its bound on steps: then a better placement may exist, see `bound`. */
  readonly proved: boolean;
  /** No placement of these items costs less; the score's total when proved. */
  readonly bound: number;
  readonly steps: number;
}

/** An item with all that the search asks for, by index. */
export interface ModelItem {
  readonly item: Item;
  readonly index: number;
  readonly shards: number;
  /** Sets of slot indices that it may take by itself, each ascending. */
  readonly choices: readonly (readonly number[])[];
  /** Slots that it is on now, if any. */
  readonly current: readonly number[] | undefined;
  readonly migration: number;
  /** Traffic weights towards other items, by index. */
  readonly traffic: readonly number[];
  /** Items with traffic, by index. */
  readonly peers: readonly number[];
  /** Disturbance of other items on one slot, by index; members of one group are one engine and cause none. */
  readonly interference: readonly number[];
  /** Items that it may share no slot with, by index. */
  readonly apart: ReadonlySet<number>;
}

/** The problem by indices, in the order in which items are placed: bigger ones first. */
export interface Model {
  readonly problem: Problem;
  readonly slots: readonly Slot[];
  readonly items: readonly ModelItem[];
  /** Cost of a hop between slots. */
  readonly hops: readonly (readonly number[])[];
  readonly nvlinked: readonly (readonly boolean[])[];
  /** Whether some slot is joined to no other. */
  readonly isolating: boolean;
  /** For each slot the first one that looks the same while both are empty. */
  readonly twin: readonly number[];
}

const hopCost: Readonly<Record<LinkType, number>> = { NV: 1, PIX: 3, PXB: 3, PHB: 6, NODE: 6, SYS: 10 };

/** Prepares a problem for the search. Items come in decreasing need, then by name: equal input gives an equal order. */
export function modelOf(problem: Problem): Model {
  const slots = [...problem.slots].sort((a, b) => compare(a.name, b.name));
  const links = linksOf(problem, slots);
  const hops = links.map((row, a) => row.map((type, b) => (a === b || problem.nvlink === 'Ignore' ? 0 : hopCost[type])));
  // With links that count for nothing, shards may be on any GPUs of a node.
  const nvlinked = links.map((row, a) =>
    row.map((type, b) => a === b || (joinable(slots[a], slots[b]) && (type === 'NV' || problem.nvlink === 'Ignore'))),
  );
  const sorted = [...problem.items].sort((a, b) => b.bytes * (b.shards ?? 1) - a.bytes * (a.shards ?? 1) || compare(a.name, b.name));
  const indexOf = new Map(sorted.map((item, index) => [item.name, index]));
  const slotIndex = new Map(slots.map((slot, index) => [slot.name, index]));
  const apart = apartOf(sorted, indexOf);
  const items = sorted.map((item, index): ModelItem => {
    const traffic = sorted.map((other) => trafficBetween(problem, item.name, other.name));
    return {
      item,
      index,
      shards: item.shards ?? 1,
      choices: choicesOf(item, slots, nvlinked),
      current: currentOf(problem, item, slotIndex),
      migration: item.migrationSeconds ?? 60,
      traffic,
      peers: traffic.flatMap((weight, other) => (weight > 0 ? [other] : [])),
      interference: sorted.map((other) => (areMates(item, other) ? 0 : interferenceOf(item.latency, other.latency))),
      apart: apart[index] ?? new Set(),
    };
  });
  const isolating = slots.some(({ isolated }) => isolated === true);
  const model = { problem, slots, items, hops, nvlinked, isolating };
  return { ...model, twin: slots.map((_, index) => twinOf(model, index)) };
}

function joinable(a: Slot | undefined, b: Slot | undefined): boolean {
  return a?.isolated !== true && b?.isolated !== true;
}

/** Returns the degree to which two tenants of one slot disturb one another. */
function interferenceOf(a: LatencyClass, b: LatencyClass): number {
  if (a === 'Tiny' || b === 'Tiny') return 0.3;
  return a === 'Decode' && b === 'Decode' ? 3 : 2;
}

function areMates(a: Item, b: Item): boolean {
  return a.group !== undefined && a.group === b.group;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function linksOf(problem: Problem, slots: readonly Slot[]): readonly (readonly LinkType[])[] {
  const named = new Map(problem.links.flatMap(({ a, b, type }) => [[`${a} ${b}`, type] as const, [`${b} ${a}`, type] as const]));
  return slots.map((a) => slots.map((b) => named.get(`${a.name} ${b.name}`) ?? 'SYS'));
}

function trafficBetween(problem: Problem, a: string, b: string): number {
  return problem.traffic
    .filter((pair) => (pair.a === a && pair.b === b) || (pair.a === b && pair.b === a))
    .reduce((sum, pair) => sum + pair.weight, 0);
}

/** "Apart" holds for both, whichever declares it. */
function apartOf(items: readonly Item[], indexOf: ReadonlyMap<string, number>): readonly ReadonlySet<number>[] {
  const sets = items.map(() => new Set<number>());
  items.forEach((item, index) => {
    for (const name of item.apart ?? []) {
      const other = indexOf.get(name);
      if (other === undefined || other === index) continue;
      sets[index]?.add(other);
      sets[other]?.add(index);
    }
  });
  return sets;
}

function currentOf(problem: Problem, item: Item, slotIndex: ReadonlyMap<string, number>): readonly number[] | undefined {
  const names = problem.current.get(item.name);
  const indices = names?.map((name) => slotIndex.get(name));
  if (indices === undefined || indices.length === 0 || indices.some((index) => index === undefined)) return undefined;
  return (indices as number[]).sort((a, b) => a - b);
}

/** All sets of slots that an item may take: healthy, allowed, of one node and joined when there are several. */
function choicesOf(item: Item, slots: readonly Slot[], nvlinked: readonly (readonly boolean[])[]): readonly (readonly number[])[] {
  const allowed = slots.flatMap((slot, index) =>
    slot.healthy && (item.slots === undefined || item.slots.includes(slot.name)) ? [index] : [],
  );
  const sets: number[][] = [];
  const extend = (set: readonly number[], from: number): void => {
    if (set.length === (item.shards ?? 1)) {
      sets.push([...set]);
      return;
    }
    for (let position = from; position < allowed.length; position += 1) {
      const next = allowed[position];
      if (next === undefined || !set.every((slot) => nvlinked[slot]?.[next] === true && slots[slot]?.node === slots[next]?.node)) continue;
      extend([...set, next], position + 1);
    }
  };
  extend([], 0);
  return sets;
}

/** Two empty slots are the same when exchanging them changes nothing: same node, memory, links, and no item names or has one of them. */
function twinOf(model: Omit<Model, 'twin'>, index: number): number {
  for (let other = 0; other < index; other += 1) if (interchangeable(model, other, index)) return other;
  return index;
}

function interchangeable({ slots, hops, nvlinked, items }: Omit<Model, 'twin'>, a: number, b: number): boolean {
  const first = slots[a];
  const second = slots[b];
  if (first === undefined || second === undefined) return false;
  if ((first.isolated === true) !== (second.isolated === true)) return false;
  if (first.node !== second.node || first.usableBytes !== second.usableBytes || first.healthy !== second.healthy) return false;
  const sameLinks = slots.every((_, c) => c === a || c === b || (hops[a]?.[c] === hops[b]?.[c] && nvlinked[a]?.[c] === nvlinked[b]?.[c]));
  const named = items.some(
    ({ item, current }) =>
      current?.includes(a) === true ||
      current?.includes(b) === true ||
      (item.slots !== undefined && item.slots.includes(first.name) !== item.slots.includes(second.name)),
  );
  return sameLinks && !named;
}
