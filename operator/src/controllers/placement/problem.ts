import type { Assignment, Holder, Inventory, Owner, Place, Wish } from './model/index.ts';
import type { Item, Mode, Problem } from '../../placement/index.ts';
import { slotsInQuestion } from './slotsInQuestion.ts';
import { joinable, slotsByItem } from './shards.ts';

/** Separates the owner from the item; neither has it in its name. */
const between = '|';

/** Name of an owner's item in the problem. */
export const nameOf = (owner: Owner, item: string): string => `${owner.key}${between}${item}`;

/** Whether it waits for the pod that holds its GPU. */
export function lacksHolder(mode: Mode | undefined, { holder }: Assignment): boolean {
  return mode === 'Reservation' && holder === undefined;
}

/** Whether a tenant of another namespace keeps everybody off the slot: a claim, or a pod that holds a GPU, is of one namespace. */
export function isForeign(owner: Owner, holder: Holder, assignment: Assignment, inventory: Inventory): boolean {
  const slot = inventory.slots.find(({ name }) => name === assignment.slot);
  return holder.owner.namespace !== owner.namespace && slot !== undefined && ((slot.published && !slot.sharedByBytes) || slot.counted);
}

/** Whether the pods of somebody else get whole GPUs of a device plugin, which nobody can join. */
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
function apartOf(owner: Owner, wish: Wish, holders: readonly Holder[]): readonly string[] {
  return wish.apart.flatMap((other) => {
    if (other !== 'EnergyModel') {
      const own = holders.filter((holder) => holder.owner.key === owner.key).flatMap(({ assignments }) => assignments);
      return [nameOf(owner, other), ...own.filter(({ item }) => item === other).map((place) => partName(owner, place))];
    }
    return verifierOf(owner, holders).flatMap((verifier) => verifier.assignments.map(({ item }) => nameOf(verifier.owner, item)));
  });
}

/** Engines of others stay where they are. */
function heldItems(owner: Owner, holders: readonly Holder[], inventory: Inventory): readonly Item[] {
  const usable = new Set(inventory.slots.filter(({ fault }) => fault === undefined).map(({ name }) => name));
  return holders.flatMap((holder) => {
    const spread = slotsByItem(holder.assignments);
    return (
      holder.assignments
        // Nobody can join them on a slot that cannot be used, so they need no place in the search.
        .filter(({ slot }) => usable.has(slot))
        .map((assignment): Item => {
          const wish = holder.owner.wishes.find(({ item }) => item === assignment.item);
          const alone = (spread.get(assignment.item)?.length ?? 0) < 2;
          return {
            name: alone ? nameOf(holder.owner, assignment.item) : partName(holder.owner, assignment),
            bytes: assignment.bytes,
            latency: wish?.latency ?? 'Decode',
            rank: 'Held',
            slots: [assignment.slot],
            exclusive: wish?.exclusive === true || isForeign(owner, holder, assignment, inventory) || ownsGpu(holder, owner),
            ...(wish?.group === undefined ? {} : { group: `${holder.owner.key}${between}${wish.group}` }),
            apart: wish === undefined ? [] : apartOf(holder.owner, wish, [...holders, { owner, assignments: owner.wishes.map(asked) }]),
          };
        })
    );
  });
}

type Held = ReadonlyMap<string, readonly string[]>;

const asked = ({ item }: Wish): Assignment => ({ item, slot: '', bytes: 1, admitted: false });

/** Slots that an engine may be on; undefined: all. */
function slotsOf({ item, slot, slots, shards = 1, among, stays }: Wish, held: Held, inventory: Inventory): readonly string[] | undefined {
  if (among !== undefined) return among;
  const places = held.get(item) ?? [];
  const sound = (place: string): boolean => inventory.slots.some(({ name, fault }) => name === place && fault === undefined);
  if (stays === true && places.length === shards && places.every(sound)) return places;
  return slots ?? (slot === undefined ? undefined : [slot]);
}

/** The slots that one that spans several may be on. */
function spanOf({ shards = 1 }: Wish, slots: readonly string[] | undefined, { nvlink }: Owner, inventory: Inventory): Partial<Item> {
  if (shards > 1) return { shards, slots: joinable(slots, inventory, nvlink) };
  return slots === undefined ? {} : { slots };
}

/** The search for places of an owner's engines beside those of all others. */
export function problemOf(owner: Owner, held: readonly Assignment[], others: readonly Holder[], inventory: Inventory): Problem {
  const places = slotsByItem(held);
  const own = owner.wishes.flatMap((wish): readonly Item[] => {
    if ('lack' in wish.demand) return [];
    const slots = slotsOf(wish, places, inventory);
    return [
      {
        name: nameOf(owner, wish.item),
        bytes: wish.demand.bytes,
        latency: wish.latency,
        rank: wish.rank,
        ...spanOf(wish, slots, owner, inventory),
        exclusive: wish.exclusive,
        ...(wish.group === undefined ? {} : { group: `${owner.key}${between}${wish.group}` }),
        apart: apartOf(owner, wish, others),
      },
    ];
  });
  const fixed = heldItems(owner, others, inventory);
  const current = new Map([
    ...[...places].map(([item, slots]) => [nameOf(owner, item), slots] as const),
    ...fixed.map(({ name, slots = [] }) => [name, slots] as const),
  ]);
  return {
    slots: slotsInQuestion(inventory.slots, [...own, ...fixed]),
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
