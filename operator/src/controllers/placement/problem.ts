import type { Assignment, Holder, Inventory, Owner, Place, PlacementRequest, PlanSlot, Rejection } from './model/index.ts';
import { type Item, type Mode, type Problem, type Architecture, type NvlinkRule, type Solution } from '../../placement/index.ts';

/** Separates the owner from the item; neither has it in its name. */
const between = '|';

/** Name of an owner's item in the problem. */
export const nameOf = (owner: Owner, item: string): string => `${owner.key}${between}${item}`;

/** A slot of which its driver has not published enough to say that it is there. */
const isPending = ({ fault }: PlanSlot): boolean => fault?.reason === 'SlotPending';

/** Reports whether its node is cordoned: an engine whose pods are gone from there may have another place. */
export const isCordoned = ({ fault }: PlanSlot): boolean => fault?.reason === 'NodeCordoned';

/** Reports whether its node takes no pods, for any reason. */
export const isShut = (slot: PlanSlot): boolean => isCordoned(slot) || slot.fault?.reason === 'NodeUnschedulable';

/** Reports whether a slot has the tenants that it had, and gets none: it is pending, or its node takes no pods. */
const isClosed = (slot: PlanSlot): boolean => isPending(slot) || isShut(slot);

/** Reports whether engines cannot stay on a slot. One that is closed is not lost where the ledger has its size. */
export const isLost = (slot: PlanSlot): boolean => slot.fault !== undefined && !(isClosed(slot) && slot.usableBytes > 0);

/** Returns the places that are lost to their engines: on slots that cannot be used, and of those that a cordoned node lost its pods of. Pure. */
export function lostTo({ requests }: Owner, { slots }: Inventory): (place: Pick<Place, 'item' | 'slot'>) => boolean {
  const lost = new Set(slots.filter(isLost).map(({ name }) => name));
  const cordoned = new Set(slots.filter(isCordoned).map(({ name }) => name));
  const drained = new Set(requests.flatMap((request) => (request.drained === true ? [request.item] : [])));
  return ({ item, slot }) => lost.has(slot) || (drained.has(item) && cordoned.has(slot));
}

/** The inventory with the sizes that plans record of slots that are pending. Pure. */
export function withLedger(inventory: Inventory, assignments: readonly Assignment[]): Inventory {
  if (!inventory.slots.some(isPending)) return inventory;
  const sizes = new Map(assignments.flatMap(({ slot, slotBytes }) => (slotBytes === undefined ? [] : [[slot, slotBytes] as const])));
  const slots = inventory.slots.map((slot) => (isPending(slot) ? { ...slot, usableBytes: sizes.get(slot.name) ?? 0 } : slot));
  return { ...inventory, slots };
}

/** Reports whether an assignment waits for the pod that holds its GPU. */
export function lacksHolder(mode: Mode | undefined, { holder }: Assignment): boolean {
  return mode === 'Reservation' && holder === undefined;
}

/** Reports whether a tenant of another namespace keeps all others off the slot: a claim, or a pod that holds a GPU, is of one namespace. */
export function isForeign(owner: Owner, holder: Holder, assignment: Assignment, inventory: Inventory): boolean {
  const slot = inventory.slots.find(({ name }) => name === assignment.slot);
  return holder.owner.namespace !== owner.namespace && slot !== undefined && ((slot.published && !slot.sharedByBytes) || slot.counted);
}

/** Reports whether the pods of another owner get whole GPUs of a device plugin, which cannot be shared. */
function ownsGpu({ owner, mode }: Holder, self: Owner): boolean {
  return owner.key !== self.key && mode === 'WholeGPU';
}

/** Name of what an engine of others holds on one of its slots: it is not to be moved, so that each part is an item by itself. */
const partName = (owner: Owner, { item, slot }: Place): string => `${nameOf(owner, item)}${between}${slot}`;

/** The model that a pool names; what it has may be reported in parts. */
function verifierOf(pool: Owner, holders: readonly Holder[]): readonly Holder[] {
  return holders.filter(
    ({ owner: { kind, name, namespace } }) => kind === 'EnergyModel' && name === pool.verifier && namespace === pool.namespace,
  );
}

/** Names in the problem of those that an engine shares no GPU with. */
function apartOf(owner: Owner, request: PlacementRequest, holders: readonly Holder[]): readonly string[] {
  return request.apart.flatMap((other) => {
    if (other !== 'EnergyModel') {
      const own = holders.filter((holder) => holder.owner.key === owner.key).flatMap(({ assignments }) => assignments);
      return [nameOf(owner, other), ...own.filter(({ item }) => item === other).map((place) => partName(owner, place))];
    }
    return verifierOf(owner, holders).flatMap((verifier) => verifier.assignments.map(({ item }) => nameOf(verifier.owner, item)));
  });
}

/** Engines of others stay where they are. */
function heldItems(owner: Owner, holders: readonly Holder[], inventory: Inventory): readonly Item[] {
  const usable = new Set(inventory.slots.filter((slot) => !isLost(slot)).map(({ name }) => name));
  return holders.flatMap((holder) => {
    const spread = slotsByItem(holder.assignments);
    return (
      holder.assignments
        // No engine can join them on a slot that cannot be used, so they need no place in the search.
        .filter(({ slot }) => usable.has(slot))
        .map((assignment): Item => {
          const request = holder.owner.requests.find(({ item }) => item === assignment.item);
          const alone = (spread.get(assignment.item)?.length ?? 0) < 2;
          return {
            name: alone ? nameOf(holder.owner, assignment.item) : partName(holder.owner, assignment),
            bytes: assignment.bytes,
            latency: request?.latency ?? 'Decode',
            rank: 'Held',
            slots: [assignment.slot],
            exclusive: request?.exclusive === true || isForeign(owner, holder, assignment, inventory) || ownsGpu(holder, owner),
            ...(request?.group === undefined ? {} : { group: `${holder.owner.key}${between}${request.group}` }),
            apart:
              request === undefined ? [] : apartOf(holder.owner, request, [...holders, { owner, assignments: owner.requests.map(asked) }]),
          };
        })
    );
  });
}

type Held = ReadonlyMap<string, readonly string[]>;

const asked = ({ item }: PlacementRequest): Assignment => ({ item, slot: '', bytes: 1, admitted: false });

/** Slots that an engine may be on; undefined: all. */
function slotsOf(
  { item, slot, slots, shards = 1, among, stays, drained }: PlacementRequest,
  held: Held,
  inventory: Inventory,
): readonly string[] | undefined {
  if (among !== undefined) return among;
  const places = held.get(item) ?? [];
  const sound = (place: string): boolean => inventory.slots.some((slot) => slot.name === place && !isLost(slot));
  if (stays === true && drained !== true && places.length === shards && places.every(sound)) return places;
  return slots ?? (slot === undefined ? undefined : [slot]);
}

/** Returns the slots without those that no engine may come to now, unless it is there; undefined: all. */
function openSlots(slots: readonly string[] | undefined, own: readonly string[], inventory: Inventory): readonly string[] | undefined {
  const closed = new Set(inventory.slots.flatMap((slot) => (isClosed(slot) && !own.includes(slot.name) ? [slot.name] : [])));
  if (closed.size === 0) return slots;
  return (slots ?? inventory.slots.map(({ name }) => name)).filter((name) => !closed.has(name));
}

/** The slots that one may be on, and how many of them it spans. */
function spanOf(
  { shards = 1, item, drained = false }: PlacementRequest,
  among: readonly string[] | undefined,
  held: Held,
  { nvlink }: Owner,
  inventory: Inventory,
): Partial<Item> {
  const own = drained ? [] : (held.get(item) ?? []);
  const slots = openSlots(shards > 1 ? joinable(among, inventory, nvlink) : among, own, inventory);
  return { ...(shards > 1 ? { shards } : {}), ...(slots === undefined ? {} : { slots }) };
}

/** The search for places of an owner's engines beside those of all others. */
export function problemOf(owner: Owner, held: readonly Assignment[], others: readonly Holder[], inventory: Inventory): Problem {
  const places = slotsByItem(held);
  const own = owner.requests.flatMap((request): readonly Item[] => {
    if ('lack' in request.demand) return [];
    const slots = slotsOf(request, places, inventory);
    return [
      {
        name: nameOf(owner, request.item),
        bytes: request.demand.bytes,
        latency: request.latency,
        rank: request.rank,
        ...spanOf(request, slots, places, owner, inventory),
        exclusive: request.exclusive,
        ...(request.group === undefined ? {} : { group: `${owner.key}${between}${request.group}` }),
        apart: apartOf(owner, request, others),
      },
    ];
  });
  const fixed = heldItems(owner, others, inventory);
  const current = new Map([
    ...[...places].map(([item, slots]) => [nameOf(owner, item), slots] as const),
    ...fixed.map(({ name, slots = [] }) => [name, slots] as const),
  ]);
  return {
    slots: slotsInQuestion(inventory.slots, [...own, ...fixed], current),
    links: inventory.links,
    items: [...own, ...fixed],
    traffic: owner.traffic.map(({ a, b, weight }) => ({ a: nameOf(owner, a), b: nameOf(owner, b), weight })),
    current,
    nvlink: owner.nvlink,
  };
}

/** The item of a name in the problem when it is one of the owner. */
export function ownItem(owner: Owner, name: string): string | undefined {
  return name.startsWith(`${owner.key}${between}`) ? name.slice(owner.key.length + between.length) : undefined;
}

/** Reports whether a slot is nothing but a name now: a board that its slices stand for, or one that is gone. */
function isVoid({ fault }: PlanSlot): boolean {
  return fault?.reason === 'SlotPartitioned' || fault?.reason === 'SlotGone';
}

/**
 * The slots that a search is about: names that stand for nothing only where an item asks for them or is on them, as the reason
 * is read nowhere else, and all of them where there is nothing else.
 */
function slotsInQuestion(slots: readonly PlanSlot[], items: readonly Item[], current: Problem['current']): Problem['slots'] {
  const named = new Set([...items.flatMap((item) => item.slots ?? []), ...[...current.values()].flat()]);
  const found = slots.filter((slot) => !isVoid(slot) || named.has(slot.name));
  return (found.length === 0 ? slots : found).map((slot) => ({
    name: slot.name,
    node: slot.node,
    usableBytes: slot.usableBytes,
    healthy: !isLost(slot),
    isolated: slot.mig !== undefined,
  }));
}

/** Reports whether vLLM can share out the heads: evenly, and heads of keys and values too, or each of them to several GPUs. */
function divides(shards: number, heads: number, kvHeads: number): boolean {
  return heads % shards === 0 && (kvHeads % shards === 0 || shards % kvHeads === 0);
}

const mostShards = 8;

/** Returns the reason why so many GPUs cannot share a model, with the cure; undefined: they can. Pure. */
export function indivisible({ kvHeads }: Architecture, heads: number, shards: number): string | undefined {
  if (divides(shards, heads, kvHeads)) return undefined;
  const counts = Array.from({ length: mostShards }, (_, index) => index + 1).filter((count) => divides(count, heads, kvHeads));
  const of = kvHeads === heads ? `${heads} (num_attention_heads)` : `${heads} and ${kvHeads} (num_attention_heads, num_key_value_heads)`;
  return `engine.vLLM.tensorParallel is ${shards}, and the heads of its config.json are ${of}: take one of ${counts.join(', ')}`;
}

/**
 * Slots that may be of a group, of those that come into question. Numbers of GPUs that a device plugin counts are no boards:
 * which ones pods get is its own choice, so that all of such a node have to be joined. Pure.
 */
export function joinable(slots: readonly string[] | undefined, { slots: known, links }: Inventory, nvlink: NvlinkRule): readonly string[] {
  const among = known.filter(({ name }) => slots?.includes(name) !== false);
  const unknown = slots?.filter((slot) => known.every(({ name }) => name !== slot)) ?? [];
  if (nvlink === 'Ignore') return [...unknown, ...among.map(({ name }) => name)];
  const joined = new Set(links.flatMap(({ a, b, type }) => (type === 'NV' ? [`${a} ${b}`, `${b} ${a}`] : [])));
  const whole = (node: string): boolean => {
    const names = known.filter((slot) => slot.node === node).map(({ name }) => name);
    return names.every((a, index) => names.slice(index + 1).every((b) => joined.has(`${a} ${b}`)));
  };
  return [...unknown, ...among.filter(({ node, counted }) => !counted || whole(node)).map(({ name }) => name)];
}

/** Slots of each item. */
export function slotsByItem(places: readonly Pick<Place, 'item' | 'slot'>[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const { item, slot } of places) found.set(item, [...(found.get(item) ?? []), slot]);
  return found;
}

/** Items that span several slots of which one cannot be used, and that got no place: they wait where they are, as a whole. Pure. */
export function waitingGroups(held: readonly Assignment[], found: ReadonlyMap<string, unknown>, { slots }: Inventory): ReadonlySet<string> {
  const faulty = new Set(slots.filter(isLost).map(({ name }) => name));
  const groups = [...slotsByItem(held)].filter(([item, own]) => own.length > 1 && !found.has(item) && own.some((slot) => faulty.has(slot)));
  return new Set(groups.map(([item]) => item));
}

/** The solution of all but those that wait, with what was said about these in `first`. */
export function withRefusals(solution: Solution, first: Solution, isWaiting: (name: string) => boolean): Solution {
  return {
    ...solution,
    feasible: false,
    unplaced: [...first.unplaced.filter(isWaiting), ...solution.unplaced],
    rejections: [...first.rejections.filter(({ item }) => isWaiting(item)), ...solution.rejections],
  };
}

/** An engine on several slots starts on all of them, or waits: one of them that has to wait keeps the others back. Pure. */
export function admittedAsOne(assignments: readonly Assignment[]): readonly Assignment[] {
  const waiting = new Set(assignments.filter(({ admitted }) => !admitted).map(({ item }) => item));
  return assignments.map((place) => (place.admitted && waiting.has(place.item) ? { ...place, admitted: false } : place));
}

/** By item, then by slot: what is published and what pods name has one order. */
export function inOrderOfItems<T extends Pick<Place, 'item' | 'slot'>>(a: T, b: T): number {
  if (a.item !== b.item) return a.item < b.item ? -1 : 1;
  return a.slot === b.slot ? 0 : a.slot < b.slot ? -1 : 1;
}

/** Places of the owner's engines in a solution, one for each slot of an engine. */
export function placesOf(owner: Owner, solution: Solution): ReadonlyMap<string, readonly Place[]> {
  const requested = new Set(owner.requests.map(({ item }) => item));
  return new Map(
    solution.assignments.flatMap(({ item: name, slots, bytes }) => {
      const item = ownItem(owner, name);
      return item === undefined || !requested.has(item) ? [] : [[item, slots.map((slot) => ({ item, slot, bytes }))] as const];
    }),
  );
}

/** Places that the owner's engines did not get, what the user forbids himself last. */
export function rejectionsOf(owner: Owner, solution: Solution, others: readonly Holder[], inventory: Inventory): readonly Rejection[] {
  const foreign = new Set(
    others.flatMap((holder) =>
      holder.assignments.filter((assignment) => isForeign(owner, holder, assignment, inventory)).map(({ slot }) => slot),
    ),
  );
  const closed = new Set(inventory.slots.filter(isClosed).map(({ name }) => name));
  const unknown = owner.requests.flatMap(({ item, demand }): readonly Rejection[] =>
    'lack' in demand ? [{ item, reason: demand.reason ?? 'SizeUnknown' }] : [],
  );
  const spans = (item: string): boolean =>
    owner.requests.some((request) => request.item === item && (request.shards ?? 1) > 1 && request.slots === undefined);
  const found = solution.rejections.flatMap(({ item: name, slot, reason, shortByBytes }): readonly Rejection[] => {
    const item = ownItem(owner, name);
    if (!owner.requests.some((request) => request.item === item) || item === undefined) return [];
    const held = reason === 'Exclusive' && foreign.has(slot) ? 'HeldElsewhere' : reason;
    // It names none, or all that it needs: a slot that is left out is not joined.
    const forbidden = closed.has(slot) ? 'Unhealthy' : spans(item) ? 'NotJoined' : held;
    const why = held === 'NotAllowed' ? forbidden : held;
    return [{ item, slot, reason: why, ...(shortByBytes === undefined ? {} : { shortByBytes: Math.max(1, shortByBytes) }) }];
  });
  // Slots that the user's own spec forbids come last: they are the least of news.
  const telling = ({ reason }: Rejection): number => Number(reason === 'NotAllowed');
  return [...unknown, ...found.sort((a, b) => telling(a) - telling(b))];
}
