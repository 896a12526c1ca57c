import type {
  Assignment,
  Holder,
  Inventory,
  Owner,
  OwnerPlan,
  Place,
  PlanSlot,
  Rejection,
  CanaryRequest,
  PlacementRequest,
} from './model/index.ts';
import type { PlanStatus } from '@agentfleet/protocol/api';
import { chooseMode, type Mode, type ModeChoice, type ModeFacts, nodeOfSlot, solve } from '../../placement/index.ts';
import { claimNameOf, claimsInUse, hasClasses } from './claims.ts';
import { lostTo, withLedger, lacksHolder, admittedAsOne, inOrderOfItems, rejectionsOf, problemOf, placesOf } from './problem.ts';
import { injectionOf } from './reserve/index.ts';
import { partsOf, serve, type Parts, type Presence, type Served } from './serve.ts';
import { slicesOfPlugin } from './inventory.ts';

const mostRejections = 64;

/** Search for the mode of an owner, beside the others. */
interface ModeSearch {
  readonly owner: Owner;
  readonly places: readonly Place[];
  readonly others: readonly Holder[];
  readonly inventory: Inventory;
}

function factsOf({ owner, places, others, inventory }: ModeSearch, slots: readonly PlanSlot[]): ModeFacts {
  const all = [...others, { owner, assignments: places }].flatMap(({ owner: { requests }, assignments }) =>
    assignments.map(({ item, slot }) => ({ slot, pods: requests.find((request) => request.item === item)?.replicas ?? 1 })),
  );
  const nodes = [...new Set(slots.map(({ node }) => node))];
  const used = new Map(slots.map((slot) => [slot.name, slot]));
  const conflicts = nodes.flatMap((node) => inventory.conflicts.get(node) ?? []);
  return {
    resourceApi: inventory.resourceApi,
    deviceClass: hasClasses(slots, inventory),
    slicesOfPlugin: slicesOfPlugin(owner, slots, inventory),
    conflicts,
    slots: [...used.values()].map(({ name, node, published, fault }) => {
      return {
        name,
        node,
        published: published || fault?.reason === 'SlotPending',
        pods: all.filter(({ slot }) => slot === name).reduce((sum, { pods }) => sum + pods, 0),
      };
    }),
    pluginGpus: inventory.pluginGpus,
    runtimeClass: inventory.runtimeClass,
    sharing: inventory.sharing,
    injection: injectionOf(nodes, inventory.injections),
  };
}

function modeOf(search: ModeSearch): ModeChoice & { readonly nodes: readonly string[] } {
  const { owner, places, inventory } = search;
  const names = new Set(places.map(({ slot }) => slot));
  const named = inventory.slots.filter(({ name }) => names.has(name));
  // An engine that waits for a board that is gone keeps no other from a place.
  const there = named.filter(({ fault }) => fault?.reason !== 'SlotGone');
  const slots = there.length === 0 ? named : there;
  const facts = factsOf(search, slots);
  const choice = chooseMode(owner.mode, facts);
  // A plan without places has a mode by chance.
  const before = owner.plan?.assignments.length === 0 ? undefined : owner.plan?.mode;
  const stale = slots.filter(({ node, counted }) => counted && inventory.injections.stale.has(node)).map(({ node }) => node);
  const nodes = choice.asks === true ? slots.filter(({ counted }) => counted).map(({ node }) => node) : stale;
  if (before === undefined || before === choice.mode || owner.mode !== 'Auto') return { ...choice, nodes };
  // A better mode that came up would start everything again: the one in force stays as long as it can be used.
  const stays = chooseMode(before, facts);
  return stays.mode === undefined ? { ...choice, nodes } : { ...stays, nodes: stays.mode === 'Reservation' ? stale : [] };
}

/** Engines that serve, and their places. */
interface Settled {
  readonly parts: Parts;
  readonly served: Served;
  readonly kept: readonly Place[];
}

interface Room {
  readonly others: readonly Holder[];
  readonly inventory: Inventory;
  readonly mode: Mode | undefined;
}

/** Places for canaries beside what serves. */
function tryCanaries(owner: Owner, { parts, served, kept }: Settled, { others, inventory, mode }: Room): CanaryPlaces {
  return placeCanaries({
    owner: parts.tried,
    held: served.canaries,
    serving: { owner: parts.serving, assignments: kept.map((place) => ({ ...place, admitted: false })) },
    around: [...others, { owner, assignments: [...parts.leaving, ...served.evicted] }],
    inventory,
    mayCome: served.lacking.size === 0 && mode !== undefined && served.evicted.length === 0,
    alone: mode === 'WholeGPU',
  });
}

function statusOf(mode: Mode | undefined, assignments: readonly Assignment[], rejected: readonly Rejection[]): PlanStatus {
  return {
    ...(mode === undefined ? {} : { mode }),
    assignments: [...assignments],
    ...(rejected.length === 0 ? {} : { rejected: rejected.slice(0, mostRejections) }),
  };
}

/** The plan of an owner beside what all others hold. Pure and deterministic. */
export function planOwner(owner: Owner, others: readonly Holder[], seen: Inventory, present: Presence): OwnerPlan {
  const inventory = withLedger(seen, [...others.flatMap(({ assignments }) => assignments), ...(owner.plan?.assignments ?? [])]);
  const parts = partsOf(owner, present);
  const { serving, held, leaving } = parts;
  const served = serve(owner, parts, { others, inventory, present });
  const places = [...served.places, ...served.canaries, ...leaving];
  const { mode, skipped, nodes } = modeOf({ owner: serving, places, others, inventory });
  // Without a mode no new engine gets a place; one that has a place keeps it.
  const kept: readonly Place[] = mode === undefined ? held : served.places;
  const inForce = mode ?? owner.plan?.mode;
  const tried = tryCanaries(owner, { parts, served, kept }, { others, inventory, mode });
  const used = claimsInUse(owner, others);
  const seats = admittedAsOne(
    [...kept, ...tried.places].map((place) => seat(owner, place, [...held, ...served.canaries], inForce, { inventory, used })),
  );
  const ends = served.evicted.map((place) => ({ ...place, admitted: false }));
  const assignments = [...seats, ...leaving, ...ends].sort(inOrderOfItems);
  const refused = rejectionsOf(serving, served.solution, others, inventory);
  const placed = new Set(kept.map(({ item }) => item));
  const short = shortOf(kept, served.places);
  const isGone = lostTo(serving, inventory);
  return {
    plan: statusOf(inForce, assignments, [...refused, ...tried.rejected]),
    skipped,
    unplaced: serving.requests
      .map(({ item }) => item)
      .filter((item) => !placed.has(item) || short.has(item) || refused.some((conditionValue) => conditionValue.item === item)),
    stuck: assignments.filter((place) => isGone(place) && placed.has(place.item)),
    modeLack: mode === undefined && serving.requests.length > 0 && served.places.length > 0 ? skipped.at(-1)?.reason : undefined,
    ending: new Set([...leaving, ...ends].map(({ item }) => item)),
    asks: nodes,
  };
}

/** Items that do not have all of the places and bytes that were found for them, as no mode gives them these. */
function shortOf(kept: readonly Place[], found: readonly Place[]): ReadonlySet<string> {
  const keyOf = ({ item, slot, bytes }: Place): string => `${item} ${slot} ${bytes}`;
  const has = new Set(kept.map(keyOf));
  return new Set(found.filter((place) => !has.has(keyOf(place))).map(({ item }) => item));
}

/** Slots that engines may sit on, and the claims in use. */
interface Site {
  readonly inventory: Inventory;
  readonly used: ReturnType<typeof claimsInUse>;
}

/** An assignment as it is published. Who stays on the same board keeps his turn. */
function seat(owner: Owner, place: Place, held: readonly Assignment[], mode: Mode | undefined, site: Site): Assignment {
  const { item, slot: name, bytes } = place;
  const { inventory, used } = site;
  const slot = inventory.slots.find((known) => known.name === name);
  const before = held.find((assignment) => assignment.item === item && assignment.slot === name);
  const { uuid, holder } = boardOf(owner, slot, before, mode);
  const slotBytes = slot === undefined || slot.usableBytes === 0 ? before?.slotBytes : slot.usableBytes;
  const base: Assignment = {
    item,
    slot: name,
    ...(uuid === undefined || uuid === '' ? {} : { uuid }),
    bytes,
    ...(slotBytes === undefined ? {} : { slotBytes }),
    admitted: false,
  };
  const claim = mode !== 'DRA' ? undefined : slot?.published === true ? claimNameOf(owner, base, slot, inventory, used) : before?.claim;
  const made: Assignment = { ...base, ...(claim === undefined ? {} : { claim }), ...(holder === undefined ? {} : { holder }) };
  const same = before?.uuid === made.uuid && before?.claim === made.claim && before?.holder === made.holder;
  return { ...made, admitted: before?.admitted === true && same && !lacksHolder(mode, made) };
}

/** The board of an engine, and the pod of its namespace that holds it. */
function boardOf(
  { namespace }: Owner,
  slot: PlanSlot | undefined,
  before: Assignment | undefined,
  mode: Mode | undefined,
): { readonly uuid: string | undefined; readonly holder?: string } {
  if (mode === 'Reservation') {
    const { holder } = slot ?? {};
    return holder?.namespace === namespace ? { uuid: slot?.uuid, holder: holder.uid } : { uuid: before?.uuid };
  }
  // The board that a pod gets is the plugin's own choice.
  return { uuid: slot?.counted === true ? undefined : (slot?.uuid ?? before?.uuid) };
}

/** Input of the search for places of canaries. */
interface CanarySearch {
  /** The owner with its canaries alone. */
  readonly owner: Owner;
  /** Canaries that have a place. */
  readonly held: readonly Assignment[];
  /** Engines that serve; none of them moves. */
  readonly serving: Holder;
  /** Everybody else, and what goes. */
  readonly around: readonly Holder[];
  readonly inventory: Inventory;
  /** Whether new ones may come now. */
  readonly mayCome: boolean;
  /** Whether a GPU has one tenant only. */
  readonly alone: boolean;
}

interface CanaryPlaces {
  readonly places: readonly Place[];
  readonly rejected: readonly Rejection[];
}

/** Slots that are tried, one group after another. */
function groupsOf(request: PlacementRequest, { beside, elsewhere }: CanaryRequest, search: CanarySearch): readonly (readonly string[])[] {
  const { serving, inventory } = search;
  const own = request.slots ?? (request.slot === undefined ? undefined : [request.slot]);
  if (elsewhere && own !== undefined) return [own];
  const same = serving.assignments.filter(({ item }) => item === beside).map((place) => place.slot);
  // A slot that is named names its node: the weights may be there only.
  const node = own?.[0] === undefined ? undefined : nodeOfSlot(own[0]);
  const any = inventory.slots.filter((known) => node === undefined || known.node === node).map(({ name }) => name);
  return [same, any];
}

function placeOne(request: PlacementRequest, tenants: readonly Holder[], search: CanarySearch): CanaryPlaces {
  const { owner, inventory, alone } = search;
  const taken = new Set(alone ? tenants.flatMap(({ assignments }) => assignments.map(({ slot }) => slot)) : []);
  const groups = request.canary === undefined ? [] : groupsOf(request, request.canary, search);
  const rejected = new Map<string, Rejection>();
  for (const group of groups) {
    const among = group.filter((slot) => !taken.has(slot));
    if (among.length < (request.shards ?? 1)) continue;
    const one = { ...owner, requests: [{ ...request, among }] };
    const solution = solve(problemOf(one, [], tenants, inventory));
    const places = [...placesOf(one, solution).values()].flat();
    if (places.length > 0) return { places, rejected: [] };
    for (const conditionValue of rejectionsOf(one, solution, tenants, inventory))
      if (conditionValue.reason !== 'NotAllowed') rejected.set(conditionValue.slot ?? '', conditionValue);
  }
  const short = ({ shortByBytes }: Rejection): number => shortByBytes ?? Infinity;
  const words = [...rejected.values()].sort((a, b) => (short(a) === short(b) ? 0 : short(a) - short(b)));
  return { places: [], rejected: words.length > 0 ? words : [{ item: request.item, reason: 'NotAllowed' }] };
}

/**
 * Places for the engines of a revision that is tried, beside all that is there. All of them come, or none; no engine is moved
 * for them. Pure and deterministic.
 */
function placeCanaries(search: CanarySearch): CanaryPlaces {
  const { owner, held, serving, around, mayCome } = search;
  const coming = owner.requests.filter(({ item }) => !held.some((assignment) => assignment.item === item));
  if (!mayCome) return { places: held, rejected: [] };
  const placed: Assignment[] = [...held];
  const rejected: Rejection[] = [];
  for (const request of coming) {
    const found = placeOne(request, [...around, serving, { owner, assignments: placed }], search);
    placed.push(...found.places.map((place) => ({ ...place, admitted: false })));
    rejected.push(...found.rejected);
  }
  return rejected.length > 0 ? { places: held, rejected } : { places: placed, rejected };
}
