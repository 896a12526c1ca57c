import type { Assignment, Holder, Inventory, Owner, Place, PlacementRequest } from './model/index.ts';
import { ranks, solve, type Solution } from '../../placement/index.ts';
import { isCordoned, lostTo, ownItem, problemOf, waitingGroups, withRefusals, placesOf } from './problem.ts';

/** Reports whether pods of an assignment are there, or are being made or ended. */
export type Presence = (owner: Owner, assignment: Assignment) => boolean;

/**
 * An owner with what is known of its engines on cordoned nodes: one whose pods run there stays, unless its spec names another place or it
 * asks for more; one whose pods are gone is drained, and has no other place if its weights are bound to the node. Pure.
 */
export function onCordoned(owner: Owner, { slots }: Inventory, runs: Presence): Owner {
  const cordoned = new Set(slots.filter(isCordoned).map(({ name }) => name));
  const held = new Map(
    (owner.plan?.assignments ?? []).flatMap((place) => (cordoned.has(place.slot) ? [[place.item, place] as const] : [])),
  );
  if (held.size === 0) return owner;
  const slotsOf = (item: string): readonly string[] =>
    (owner.plan?.assignments ?? []).flatMap((place) => (place.item === item ? [place.slot] : []));
  const requests = owner.requests.map((request): PlacementRequest => {
    const place = held.get(request.item);
    if (place === undefined) return request;
    const free = request.slot === undefined && request.slots === undefined;
    const gone = { ...request, drained: true };
    if (!runs(owner, place)) return request.bound === true && free ? { ...gone, among: slotsOf(request.item) } : gone;
    return free && 'bytes' in request.demand && request.demand.bytes <= place.bytes ? { ...request, stays: true } : request;
  });
  return { ...owner, requests };
}

type Places = ReadonlyMap<string, readonly Place[]>;

const isAt = (places: Places, { item, slot }: Assignment): boolean => places.get(item)?.some((place) => place.slot === slot) === true;

/**
 * Decides the places of the engines. When all fit: where the solver puts them. When not, those that have a place keep it and
 * nothing moves, unless a place was lost: then the most important ones are served and the others give way.
 */
function settle(owner: Owner, held: readonly Assignment[], solution: Solution, inventory: Inventory): readonly Place[] {
  const places = placesOf(owner, solution);
  const own = owner.requests.map(({ item }) => item);
  const complete = own.every((item) => places.has(item));
  if (complete) return [...places.values()].flat();
  const gone = held.filter(lostTo(owner, inventory));
  const lost = owner.hit === true || gone.some((place) => places.has(place.item) && !isAt(places, place));
  if (!lost) {
    // At the first time no engine is disturbed, and still nothing starts by halves.
    return own.flatMap((item) => held.filter((assignment) => assignment.item === item));
  }
  const hurt = new Set(gone.map(({ item }) => item));
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
  const serving = { ...owner, requests: owner.requests.filter(({ canary }) => canary === undefined) };
  const tried = { ...owner, requests: owner.requests.filter(({ canary }) => canary !== undefined) };
  const all = owner.plan?.assignments ?? [];
  const of = ({ requests }: Owner): readonly Assignment[] => all.filter(({ item }) => requests.some((request) => request.item === item));
  const known = new Set(owner.requests.map(({ item }) => item));
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
  /** Engines that have no place, or one that is lost to them. */
  readonly lacking: ReadonlySet<string>;
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
  const needs = ({ item, more = 0, demand }: PlacementRequest): boolean => more > 0 && growing.has(item) && 'bytes' in demand;
  if (!serving.requests.some(needs)) return undefined;
  const requests = serving.requests.map((request): PlacementRequest =>
    needs(request) && 'bytes' in request.demand ? { ...request, demand: { bytes: request.demand.bytes + (request.more ?? 0) } } : request,
  );
  return { ...serving, requests };
}

/** Engines that an owner has, by whether a place is looked for now. */
interface Having {
  readonly held: readonly Assignment[];
  readonly beside: readonly Assignment[];
}

/** Drained engines that find no other place, or only that of one as important that has lost none: they wait for their node. */
function waitingForNodes(of: Owner, held: readonly Assignment[], found: Places, inventory: Inventory): ReadonlySet<string> {
  const gone = new Set(held.filter(lostTo(of, inventory)).map(({ item }) => item));
  const sound = new Set(held.flatMap(({ item }) => (gone.has(item) ? [] : [item])));
  const pushed = of.requests.filter(({ item }) => sound.has(item) && !found.has(item)).map(({ rank }) => ranks.indexOf(rank));
  const waits = ({ item, rank }: PlacementRequest): boolean => !found.has(item) || pushed.some((other) => other >= ranks.indexOf(rank));
  return new Set(of.requests.flatMap((request) => (request.drained === true && waits(request) ? [request.item] : [])));
}

/**
 * Places for the requests of `of`, which has those of `owner` that serve. What waits for a GPU of its own, or for its node, is in no
 * other's way and keeps the others.
 */
function solutionOf(owner: Owner, of: Owner, { held, beside }: Having, { others, inventory }: Omit<Around, 'present'>): Solution {
  const among = (asking: Owner, more: readonly Assignment[]): Solution =>
    solve(problemOf(asking, held, [...others, { owner, assignments: [...beside, ...more] }], inventory));
  const first = among(of, []);
  const found = placesOf(of, first);
  const idle = waitingForNodes(of, held, found, inventory);
  if (idle.size > 0) {
    const requests = of.requests.map((request) => (idle.has(request.item) ? { ...request, drained: false } : request));
    const next = solutionOf(owner, { ...of, requests }, { held, beside }, { others, inventory });
    return withRefusals(next, first, (name) => idle.has(ownItem(owner, name) ?? '') && !next.unplaced.includes(name));
  }
  const waiting = waitingGroups(held, found, inventory);
  if (waiting.size === 0) return first;
  const rest = { ...of, requests: of.requests.filter(({ item }) => !waiting.has(item)) };
  const kept = held.filter(({ item }) => waiting.has(item));
  return withRefusals(among(rest, kept), first, (name) => waiting.has(ownItem(owner, name) ?? ''));
}

/** Places the serving engines first: where they do not fit beside canaries, these go, and the engines take the place when they are gone. */
export function serve(owner: Owner, parts: Parts, { others, inventory, present }: Around): Served {
  const { serving, held, heldCanaries, leaving } = parts;
  const isGone = lostTo(serving, inventory);
  const attempt = (canaries: readonly Assignment[], of = serving): Attempt => {
    const solution = solutionOf(owner, of, { held, beside: [...leaving, ...canaries] }, { others, inventory });
    const found = placesOf(of, solution);
    const waiting = held.filter((place) => isGone(place) && isAt(found, place)).map(({ item }) => item);
    const lacking = new Set([...of.requests.map(({ item }) => item).filter((item) => !found.has(item)), ...waiting]);
    return { solution, places: settle(of, held, solution, inventory), lacking };
  };
  const more = grown(parts, inventory);
  const roomy = more === undefined ? undefined : attempt(heldCanaries, more);
  const still = held.every(({ item, slot }) => roomy?.places.some((place) => place.item === item && place.slot === slot));
  // Room is kept where there is some; no engine moves or goes for it.
  if (roomy?.lacking.size === 0 && still) return { ...roomy, canaries: heldCanaries, evicted: [] };
  const first = attempt(heldCanaries);
  if (first.lacking.size === 0 || heldCanaries.length === 0) return { ...first, canaries: heldCanaries, evicted: [] };
  const keyOf = ({ item, slot, bytes }: Place): string => `${item} ${slot} ${bytes}`;
  const had = new Set(first.places.map(keyOf));
  const alone = attempt([]);
  const helps = [...first.lacking].some((item) => !alone.lacking.has(item));
  const gained = new Set(alone.places.flatMap((place) => (!helps || had.has(keyOf(place)) ? [] : [place.slot])));
  const goes = new Set(heldCanaries.filter(({ slot }) => gained.has(slot)).map(({ item }) => item));
  const away = heldCanaries.filter(({ item }) => goes.has(item));
  const canaries = heldCanaries.filter((canary) => !away.includes(canary));
  const evicted = away.filter((canary) => present(owner, canary));
  return evicted.length > 0 ? { ...first, canaries, evicted } : { ...attempt(canaries), canaries, evicted };
}
