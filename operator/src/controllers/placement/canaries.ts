import type { Assignment, CanaryWish, Holder, Inventory, Owner, Place, Rejection, Wish } from './model/index.ts';
import { solve } from '../../placement/index.ts';
import { problemOf } from './problem.ts';
import { placesOf, rejectionsOf } from './solution.ts';

/** What places for canaries are looked for in. */
export interface CanarySearch {
  /** The owner with its canaries alone. */
  readonly owner: Owner;
  /** Canaries that have a place. */
  readonly held: readonly Assignment[];
  /** What serves; nothing of it moves. */
  readonly serving: Holder;
  /** Everybody else, and what goes. */
  readonly around: readonly Holder[];
  readonly inventory: Inventory;
  /** Whether new ones may come now. */
  readonly mayCome: boolean;
  /** Whether a GPU has one tenant only. */
  readonly alone: boolean;
}

export interface CanaryPlaces {
  readonly places: readonly Place[];
  readonly rejected: readonly Rejection[];
}

const nodeOf = (slot: string): string => slot.slice(0, slot.lastIndexOf('/'));

/** Slots that are tried, one group after another. */
function groupsOf(wish: Wish, { beside, elsewhere, slot }: CanaryWish, search: CanarySearch): readonly (readonly string[])[] {
  const { serving, inventory } = search;
  const own = wish.slots ?? (wish.slot === undefined ? undefined : [wish.slot]);
  if (elsewhere && own !== undefined) return [own];
  const same = serving.assignments.filter(({ item }) => item === beside).map((place) => place.slot);
  // Whoever names a slot names its node: the weights may be there only.
  const node = own?.[0] === undefined ? undefined : nodeOf(own[0]);
  const any = inventory.slots.filter((known) => node === undefined || known.node === node).map(({ name }) => name);
  return [slot === undefined ? same : [slot], any];
}

function placeOne(wish: Wish, tenants: readonly Holder[], search: CanarySearch): CanaryPlaces {
  const { owner, inventory, alone } = search;
  const taken = new Set(alone ? tenants.flatMap(({ assignments }) => assignments.map(({ slot }) => slot)) : []);
  const groups = wish.canary === undefined ? [] : groupsOf(wish, wish.canary, search);
  const rejected = new Map<string, Rejection>();
  for (const group of groups) {
    const among = group.filter((slot) => !taken.has(slot));
    if (among.length < (wish.shards ?? 1)) continue;
    const one = { ...owner, wishes: [{ ...wish, among }] };
    const solution = solve(problemOf(one, [], tenants, inventory));
    const places = [...placesOf(one, solution).values()].flat();
    if (places.length > 0) return { places, rejected: [] };
    for (const conditionValue of rejectionsOf(one, solution, tenants, inventory))
      if (conditionValue.reason !== 'NotAllowed') rejected.set(conditionValue.slot ?? '', conditionValue);
  }
  const short = ({ shortByBytes }: Rejection): number => shortByBytes ?? Infinity;
  const words = [...rejected.values()].sort((a, b) => (short(a) === short(b) ? 0 : short(a) - short(b)));
  return { places: [], rejected: words.length > 0 ? words : [{ item: wish.item, reason: 'NotAllowed' }] };
}

/**
 * Places for the engines of a revision that is tried, beside all that is there. All of them come, or none; nobody is moved
 * for them. Pure and deterministic.
 */
export function placeCanaries(search: CanarySearch): CanaryPlaces {
  const { owner, held, serving, around, mayCome } = search;
  const coming = owner.wishes.filter(({ item }) => !held.some((assignment) => assignment.item === item));
  if (!mayCome) return { places: held, rejected: [] };
  const placed: Assignment[] = [...held];
  const rejected: Rejection[] = [];
  for (const wish of coming) {
    const found = placeOne(wish, [...around, serving, { owner, assignments: placed }], search);
    placed.push(...found.places.map((place) => ({ ...place, admitted: false })));
    rejected.push(...found.rejected);
  }
  return rejected.length > 0 ? { places: held, rejected } : { places: placed, rejected };
}
