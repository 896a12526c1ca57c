import type { Assignment, Holder, Inventory, Owner, Place, Wish } from './model/index.ts';
import { solve, type Solution } from '../../placement/index.ts';
import { isLost, ownItem, problemOf, waitingGroups, withRefusals, placesOf } from './problem.ts';

/** Reports whether pods of an assignment are there, or are being made or ended. */
export type Presence = (owner: Owner, assignment: Assignment) => boolean;

/**
 * Decides the places of the engines. When all fit: where the solver puts them. When not, those that have a place keep it and
 * nothing moves, unless a place was lost: then the most important ones are served and the others give way.
 */
function settle(owner: Owner, held: readonly Assignment[], solution: Solution, inventory: Inventory): readonly Place[] {
  const places = placesOf(owner, solution);
  const own = owner.wishes.map(({ item }) => item);
  const complete = own.every((item) => places.has(item));
  const faulty = new Set(inventory.slots.filter(isLost).map(({ name }) => name));
  const lost = owner.hit === true || held.some(({ slot, item }) => faulty.has(slot) && places.has(item));
  if (complete) return [...places.values()].flat();
  if (!lost) {
    // At the first time no engine is disturbed, and still nothing starts by halves.
    return own.flatMap((item) => held.filter((assignment) => assignment.item === item));
  }
  const hurt = new Set(held.filter(({ slot }) => faulty.has(slot)).map(({ item }) => item));
  const stuck = held.filter(({ item }) => hurt.has(item) && !places.has(item));
  return [...[...places.values()].flat(), ...stuck];
}

/** Engines that an owner has and wants, by what may be done about them. */
export interface Parts {
  /** The owner with what serves alone. */
  readonly serving: Owner;
  readonly held: readonly Assignment[];
  readonly tried: Owner;
  readonly heldCanaries: readonly Assignment[];
  /** Not asked for any more, and their pods are still there: their memory is theirs until they are gone. */
  readonly leaving: readonly Assignment[];
}

/** Sorts what an owner has. */
export function partsOf(owner: Owner, present: Presence): Parts {
  const serving = { ...owner, wishes: owner.wishes.filter(({ canary }) => canary === undefined) };
  const tried = { ...owner, wishes: owner.wishes.filter(({ canary }) => canary !== undefined) };
  const all = owner.plan?.assignments ?? [];
  const of = ({ wishes }: Owner): readonly Assignment[] => all.filter(({ item }) => wishes.some((wish) => wish.item === item));
  const known = new Set(owner.wishes.map(({ item }) => item));
  const leaving = all.filter((assignment) => !known.has(assignment.item) && present(owner, assignment));
  return { serving, held: of(serving), tried, heldCanaries: of(tried), leaving };
}

/** Surroundings of an owner. */
export interface Around {
  readonly others: readonly Holder[];
  readonly inventory: Inventory;
  readonly present: Presence;
}

interface Attempt {
  readonly solution: Solution;
  readonly places: readonly Place[];
  readonly complete: boolean;
}

/** Places of the engines that serve. */
export interface Served extends Attempt {
  readonly canaries: readonly Assignment[];
  /** Canaries that make room, and are still there. */
  readonly evicted: readonly Assignment[];
}

/** With what engines need by their own word; undefined: none needs more. Where a driver counts bytes a claim stays as it is. */
function grown({ serving, held }: Parts, { slots }: Inventory): Owner | undefined {
  const counted = new Set(slots.filter(({ sharedByBytes }) => sharedByBytes).map(({ name }) => name));
  const growing = new Set(held.filter(({ slot }) => !counted.has(slot)).map(({ item }) => item));
  const needs = ({ item, more = 0, demand }: Wish): boolean => more > 0 && growing.has(item) && 'bytes' in demand;
  if (!serving.wishes.some(needs)) return undefined;
  const wishes = serving.wishes.map((wish): Wish =>
    needs(wish) && 'bytes' in wish.demand ? { ...wish, demand: { bytes: wish.demand.bytes + (wish.more ?? 0) } } : wish,
  );
  return { ...serving, wishes };
}

/** Engines that an owner has, by whether a place is looked for now. */
interface Having {
  readonly held: readonly Assignment[];
  readonly beside: readonly Assignment[];
}

/** Places for the wishes of `of`, which has those of `owner` that serve. What waits for a GPU of its own is in no other's way and keeps the others. */
function solutionOf(owner: Owner, of: Owner, { held, beside }: Having, { others, inventory }: Omit<Around, 'present'>): Solution {
  const among = (wishing: Owner, more: readonly Assignment[]): Solution =>
    solve(problemOf(wishing, held, [...others, { owner, assignments: [...beside, ...more] }], inventory));
  const first = among(of, []);
  const waiting = waitingGroups(held, placesOf(of, first), inventory);
  if (waiting.size === 0) return first;
  const rest = { ...of, wishes: of.wishes.filter(({ item }) => !waiting.has(item)) };
  const kept = held.filter(({ item }) => waiting.has(item));
  return withRefusals(among(rest, kept), first, (name) => waiting.has(ownItem(owner, name) ?? ''));
}

/** Places the serving engines first: where they do not fit beside canaries, these go, and the engines take the place when they are gone. */
export function serve(owner: Owner, parts: Parts, { others, inventory, present }: Around): Served {
  const { serving, held, heldCanaries, leaving } = parts;
  const attempt = (canaries: readonly Assignment[], of = serving): Attempt => {
    const solution = solutionOf(owner, of, { held, beside: [...leaving, ...canaries] }, { others, inventory });
    const found = placesOf(of, solution);
    const complete = of.wishes.every(({ item }) => found.has(item));
    return { solution, places: settle(of, held, solution, inventory), complete };
  };
  const more = grown(parts, inventory);
  const roomy = more === undefined ? undefined : attempt(heldCanaries, more);
  const still = held.every(({ item, slot }) => roomy?.places.some((place) => place.item === item && place.slot === slot));
  // Room is kept where there is some; no engine moves or goes for it.
  if (roomy?.complete === true && still) return { ...roomy, canaries: heldCanaries, evicted: [] };
  const first = attempt(heldCanaries);
  if (first.complete || heldCanaries.length === 0) return { ...first, canaries: heldCanaries, evicted: [] };
  const keyOf = ({ item, slot, bytes }: Place): string => `${item} ${slot} ${bytes}`;
  const had = new Set(first.places.map(keyOf));
  const gained = new Set(attempt([]).places.flatMap((place) => (had.has(keyOf(place)) ? [] : [place.slot])));
  const goes = new Set(heldCanaries.filter(({ slot }) => gained.has(slot)).map(({ item }) => item));
  const away = heldCanaries.filter(({ item }) => goes.has(item));
  const canaries = heldCanaries.filter((canary) => !away.includes(canary));
  const evicted = away.filter((canary) => present(owner, canary));
  return evicted.length > 0 ? { ...first, canaries, evicted } : { ...attempt(canaries), canaries, evicted };
}
