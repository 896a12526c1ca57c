/** A GPU by its logical name `<node>/gpu<n>`. */
export interface Slot {
  readonly name: string;
  readonly node: string;
  /** Bytes that tenants may use: the whole memory without the driver's reserve. */
  readonly usableBytes: number;
  /** False while a device taint, an XID error or a lost board keeps it from use. */
  readonly healthy: boolean;
  /** A MIG slice: nothing joins it to another slot, so that no item spans it and none talks across, whatever is said of links. */
  readonly isolated?: boolean;
}

/** How two GPUs are joined, as `nvidia-smi topo -m` names it; NVLink without its number of links. */
export type LinkType = 'NV' | 'PIX' | 'PXB' | 'PHB' | 'NODE' | 'SYS';

export interface Link {
  readonly a: string;
  readonly b: string;
  readonly type: LinkType;
}

/** What work on a GPU disturbs: `Decode` is bound by latency, `Score` runs in batches, `Tiny` is hardly felt. */
export type LatencyClass = 'Decode' | 'Score' | 'Tiny';

/** Who is preempted first when a slot is lost; the later in this list, the longer it stays. Held: of others, not to be moved. */
export const ranks = ['Canary', 'Shadow', 'Specialist', 'Draft', 'Planner', 'Verifier', 'Core', 'Held'] as const;
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
  /** Slots that it may be on, when the user says. One name pins it. */
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
  /** Where items are now. */
  readonly current: Placement;
  /** `Required`: items with traffic are joined by NVLink or share a slot. `Ignore`: links cost nothing, and shards need none. */
  readonly nvlink: NvlinkRule;
  /** Share of a slot that stays free: of one with a single tenant, and of one with several. */
  readonly headroom?: { readonly exclusive: number; readonly shared: number };
}

export const defaultHeadroom = { exclusive: 0.03, shared: 0.08 };

/** Why an item cannot be on a slot. */
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

export interface Alternative {
  readonly assignments: readonly Assignment[];
  readonly score: Score;
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
  /** The best placements that differ by one move or one exchange, the best first; 3 at most. */
  readonly alternatives: readonly Alternative[];
  /** False when the search ended at its bound on steps: then a better placement may exist, see `bound`. */
  readonly proved: boolean;
  /** No placement of these items costs less; the score's total when proved. */
  readonly bound: number;
  readonly steps: number;
}
