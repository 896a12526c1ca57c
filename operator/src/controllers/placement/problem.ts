import type { PlanStatus } from '@agentfleet/protocol/api';
import type { Item, Mode, Problem } from '../../placement/index.ts';
import { isSetAside, verifierOf } from './degraded.ts';
import type { Inventory } from './inventory.ts';
import type { Owner, Wish } from './owners.ts';

export type Assignment = PlanStatus['assignments'][number];
export type Rejection = NonNullable<PlanStatus['rejected']>[number];

/** Where an engine is to be. */
export type Place = Pick<Assignment, 'item' | 'slot' | 'bytes' | 'awakeBytes'>;

/** An owner and what it has. */
export interface Holder {
  readonly owner: Owner;
  readonly assignments: readonly Assignment[];
  /** Engines that are told to end. */
  readonly ending?: ReadonlySet<string>;
  /** How its engines get at their GPUs. */
  readonly mode?: Mode | undefined;
}

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
  return owner.key !== self.key && (mode === 'WholeGPU' || mode === 'Monopod');
}

/** Names in the problem of those that an engine shares no GPU with. */
function apartOf(owner: Owner, wish: Wish, holders: readonly Holder[]): readonly string[] {
  return wish.apart.flatMap((other) => {
    if (other !== 'EnergyModel') return [nameOf(owner, other)];
    const verifier = verifierOf(owner, holders);
    return verifier === undefined || isSetAside(owner, verifier.owner)
      ? []
      : verifier.assignments.map(({ item }) => nameOf(verifier.owner, item));
  });
}

/** Engines of others stay where they are. */
function heldItems(owner: Owner, holders: readonly Holder[], inventory: Inventory): readonly Item[] {
  const usable = new Set(inventory.slots.filter(({ fault }) => fault === undefined).map(({ name }) => name));
  return holders.flatMap((holder) =>
    holder.assignments
      // Nobody can join them on a slot that cannot be used, so they need no place in the search.
      .filter(({ slot }) => usable.has(slot))
      .map((assignment): Item => {
        const wish = holder.owner.wishes.find(({ item }) => item === assignment.item);
        const name = nameOf(holder.owner, assignment.item);
        return {
          name,
          bytes: assignment.bytes,
          latency: wish?.latency ?? 'Decode',
          rank: 'Held',
          slots: [assignment.slot],
          exclusive: wish?.exclusive === true || isForeign(owner, holder, assignment, inventory) || ownsGpu(holder, owner),
          ...(wish?.group === undefined ? {} : { group: `${holder.owner.key}${between}${wish.group}` }),
          apart: wish === undefined ? [] : apartOf(holder.owner, wish, [...holders, { owner, assignments: owner.wishes.map(asked) }]),
        };
      }),
  );
}

const asked = ({ item }: Wish): Assignment => ({ item, slot: '', bytes: 1, admitted: false });

/** Slots that an engine may be on; undefined: all. */
function slotsOf({ item, slot, among, stays }: Wish, held: readonly Assignment[], inventory: Inventory): readonly string[] | undefined {
  if (among !== undefined) return among;
  const place = held.find((assignment) => assignment.item === item)?.slot;
  const sound = inventory.slots.some(({ name, fault }) => name === place && fault === undefined);
  if (stays === true && place !== undefined && sound) return [place];
  return slot === undefined ? undefined : [slot];
}

/** The search for places of an owner's engines beside those of all others. */
export function problemOf(owner: Owner, held: readonly Assignment[], others: readonly Holder[], inventory: Inventory): Problem {
  const own = owner.wishes.flatMap((wish): readonly Item[] => {
    if ('lack' in wish.demand) return [];
    const slots = slotsOf(wish, held, inventory);
    return [
      {
        name: nameOf(owner, wish.item),
        bytes: wish.demand.bytes,
        latency: wish.latency,
        rank: wish.rank,
        ...(slots === undefined ? {} : { slots }),
        exclusive: wish.exclusive,
        ...(wish.group === undefined ? {} : { group: `${owner.key}${between}${wish.group}` }),
        apart: apartOf(owner, wish, others),
      },
    ];
  });
  const fixed = heldItems(owner, others, inventory);
  const current = new Map([
    ...held.map(({ item, slot }) => [nameOf(owner, item), [slot]] as const),
    ...fixed.map(({ name, slots = [] }) => [name, slots] as const),
  ]);
  return {
    slots: inventory.slots.map(({ name, node, usableBytes, fault, mig }) => ({
      name,
      node,
      usableBytes,
      healthy: fault === undefined,
      isolated: mig !== undefined,
    })),
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
