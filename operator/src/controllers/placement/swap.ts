import { gibibyte, ranks, type Solution } from '../../placement/index.ts';
import type { Inventory } from './inventory.ts';
import type { Owner, Wish } from './owners.ts';
import { nameOf, type Assignment, type Holder, type Place } from './problem.ts';

/**
 * What an engine keeps on its GPU while it sleeps: context, graphs and workspace of its process. Others saw 1.1 GB on each of four
 * consumer cards and up to 7 GB on each of eight that share a model of a trillion parameters; nobody's figure for one GPU is above this.
 */
const sleepingBytes = 1.5 * gibibyte;

/** Bytes of an engine that sleeps, of what it has while awake. */
export const asleep = (awake: number): number => Math.min(awake, sleepingBytes);

/** What an engine that wakes needs beyond what it has asleep. */
const growth = (awake: number): number => awake - asleep(awake);

const sum = (all: readonly number[]): number => all.reduce((total, one) => total + one, 0);

/** Room of engines that take turns: all asleep, and the biggest of them awake. */
export function roomOf(awake: readonly number[]): number {
  return sum(awake.map(asleep)) + Math.max(0, ...awake.map(growth));
}

interface Member {
  readonly item: string;
  readonly awake: number;
  /** Bytes that it is counted with now; undefined for a newcomer. */
  readonly had: number | undefined;
}

const carries = ({ had, awake }: Member): boolean => had !== undefined && had > asleep(awake);

/** Whoever has more than a sleeper keeps it, so that a newcomer changes nobody's bytes; the others by what they would add. */
function inOrder(a: Member, b: Member): number {
  if (carries(a) !== carries(b)) return carries(a) ? -1 : 1;
  const more = growth(a.awake) - growth(b.awake);
  return (carries(a) ? more : -more) || (a.item < b.item ? -1 : 1);
}

/** Bytes of each: the sum is the room of all, whoever came first. */
function sharesOf(members: readonly Member[]): ReadonlyMap<string, number> {
  let covered = 0;
  return new Map(
    [...members].sort(inOrder).map(({ item, awake }) => {
      const added = Math.max(0, growth(awake) - covered);
      covered += added;
      return [item, asleep(awake) + added] as const;
    }),
  );
}

/** What a place of one that takes turns has awake; undefined for others. A place that was just found has all of it as its bytes. */
function awakeOf({ wishes }: Owner, { item, bytes, awakeBytes }: Place): number | undefined {
  return awakeBytes ?? (wishes.find((wish) => wish.item === item)?.turns === true ? bytes : undefined);
}

/** Gives each place of an owner the share that it has of the room of those of `places` that take turns on its slot. Pure. */
export function shareTurns(owner: Owner, places: readonly Place[]): <T extends Place>(place: T) => T {
  const before = owner.plan?.assignments ?? [];
  const hadOf = ({ item, slot }: Place): number | undefined => before.find((had) => had.item === item && had.slot === slot)?.bytes;
  const members = places.flatMap((place) => {
    const awake = awakeOf(owner, place);
    return awake === undefined ? [] : [{ item: place.item, slot: place.slot, awake, had: hadOf(place) }];
  });
  const shares = new Map(
    [...new Set(members.map(({ slot }) => slot))].flatMap((slot) => [...sharesOf(members.filter((member) => member.slot === slot))]),
  );
  const awake = new Map(members.map((member) => [member.item, member.awake]));
  return (place) => ({ ...place, ...told(shares.get(place.item), awake.get(place.item)) });
}

function told(bytes: number | undefined, awakeBytes: number | undefined): Partial<Pick<Place, 'bytes' | 'awakeBytes'>> {
  return bytes === undefined || awakeBytes === undefined ? {} : { bytes, awakeBytes };
}

/** Engines that take turns on one slot. */
interface Turns {
  /** In whose name the solver places them. */
  readonly lead: string;
  readonly members: readonly Wish[];
  /** The sound slot that they have; undefined: none, and the solver chooses. */
  readonly anchor: string | undefined;
  readonly wish: Wish;
}

const bytesIn = ({ demand }: Wish): number => ('bytes' in demand ? demand.bytes : 0);

/** An owner as the solver sees it: engines that take turns on a slot are one item of it. */
export interface InTurns {
  readonly owner: Owner;
  readonly held: readonly Assignment[];
  /** What else the owner has: what leaves, and canaries. */
  readonly beside: Holder;
  /** The solution with each engine again, those that take turns with what they have awake. */
  expand(solution: Solution): Solution;
}

interface Ground {
  readonly held: readonly Assignment[];
  readonly beside: readonly Assignment[];
  readonly inventory: Inventory;
}

const isSound = ({ slots }: Inventory, slot: string | undefined): boolean =>
  slots.some(({ name, fault }) => name === slot && fault === undefined);

/** The slot on which most of these bytes are. */
function mostOn(held: readonly Assignment[]): string | undefined {
  const bytes = new Map<string, number>();
  for (const { slot, bytes: more } of held) bytes.set(slot, (bytes.get(slot) ?? 0) + more);
  return [...bytes].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))[0]?.[0];
}

/** Those that share no GPU by the user's word share no turns either. */
function mayJoin(wish: Wish, group: readonly Wish[]): boolean {
  const alone = wish.exclusive || group.some(({ exclusive }) => exclusive);
  const apart = group.some(({ item, apart: others }) => wish.apart.includes(item) || others.includes(wish.item));
  return !alone && !apart;
}

/** Where each wants to be: the slot that it names or stays on, else the one where most of the others that name none are. */
function gathered(
  wishes: readonly Wish[],
  { held, inventory }: Ground,
): readonly { readonly slot: string; readonly members: readonly Wish[] }[] {
  const at = new Map(held.map(({ item, slot }) => [item, slot]));
  const ownSlot = ({ item, slot, stays }: Wish): string | undefined =>
    stays === true && isSound(inventory, at.get(item)) ? at.get(item) : slot;
  const free = new Set(wishes.filter((wish) => ownSlot(wish) === undefined).map(({ item }) => item));
  const most = mostOn(held.filter(({ item }) => free.has(item)));
  const named = new Set(wishes.flatMap((wish) => ownSlot(wish) ?? []));
  const rest = most !== undefined && named.has(most) && isSound(inventory, most) ? most : '';
  const groups: { readonly slot: string; readonly members: Wish[] }[] = [];
  for (const wish of wishes) {
    const slot = ownSlot(wish) ?? rest;
    const found = groups.find((group) => group.slot === slot && mayJoin(wish, group.members));
    if (found === undefined) groups.push({ slot, members: [wish] });
    else found.members.push(wish);
  }
  return groups;
}

/** The biggest speaks for all, a newcomer where there is one: what is refused is refused to him. */
function leadOf(members: readonly Wish[], held: ReadonlySet<string>): Wish | undefined {
  const news = members.filter(({ item }) => !held.has(item));
  return [...(news.length > 0 ? news : members)].sort((a, b) => bytesIn(b) - bytesIn(a) || (a.item < b.item ? -1 : 1))[0];
}

function turnsOf(slot: string, members: readonly Wish[], { held, beside, inventory }: Ground): readonly Turns[] {
  const own = held.filter(({ item }) => members.some((member) => member.item === item));
  const lead = leadOf(members, new Set(own.map(({ item }) => item)));
  if (lead === undefined) return [];
  const has = slot === '' ? mostOn(own) : slot;
  const anchor = isSound(inventory, has) ? has : undefined;
  const followers = beside.flatMap((place) => (place.slot === anchor && place.awakeBytes !== undefined ? [place.awakeBytes] : []));
  const bytes = roomOf([...members.map(bytesIn), ...followers]) - roomOf(followers);
  const { stays: _, slot: _named, ...rest } = lead;
  const rank = [...members].sort((a, b) => ranks.indexOf(b.rank) - ranks.indexOf(a.rank))[0]?.rank ?? lead.rank;
  const group = members.find((member) => member.group !== undefined)?.group;
  const wish: Wish = {
    ...rest,
    demand: { bytes },
    slot: slot === '' ? undefined : slot,
    // What leaves, and canaries, are in this room: it stays where it is until they are gone.
    ...(slot === '' && anchor !== undefined && followers.length > 0 ? { among: [anchor] } : {}),
    rank,
    latency: members.some(({ latency }) => latency === 'Decode') ? 'Decode' : lead.latency,
    group,
    apart: [...new Set(members.flatMap(({ apart }) => apart))].filter((other) => members.every(({ item }) => item !== other)),
  };
  return [{ lead: lead.item, members, anchor, wish }];
}

/** Puts engines that take turns together for the solver. `beside` is what the owner has beside `held`. Pure. */
export function inTurns(whole: Owner, owner: Owner, ground: Ground): InTurns {
  const { held, beside } = ground;
  const taking = owner.wishes.filter(({ turns, demand }) => turns === true && 'bytes' in demand);
  const all = gathered(taking, ground).flatMap(({ slot, members }) => turnsOf(slot, members, ground));
  const leads = new Map(all.flatMap((turns) => turns.members.map(({ item }) => [item, turns.lead] as const)));
  const leadName = (item: string): string => leads.get(item) ?? item;
  const renamed = (wish: Wish): Wish => ({ ...wish, apart: [...new Set(wish.apart.map(leadName))] });
  const grouped = all.map(({ wish }) => renamed(wish));
  const single = owner.wishes.filter(({ item }) => !leads.has(item)).map(renamed);
  const traffic = owner.traffic.map((one) => ({ ...one, a: leadName(one.a), b: leadName(one.b) })).filter(({ a, b }) => a !== b);
  const folded = all.flatMap(({ lead, members, anchor }) => {
    const [place] = held.filter(({ item }) => members.some((member) => member.item === item));
    const slot = anchor ?? place?.slot;
    return place === undefined || slot === undefined ? [] : [{ ...place, item: lead, slot }];
  });
  const byName = new Map(all.map((turns) => [nameOf(owner, turns.lead), turns.members]));
  return {
    owner: { ...owner, wishes: [...single, ...grouped], traffic },
    held: [...held.filter(({ item }) => !leads.has(item)), ...folded],
    beside: { owner: { ...whole, wishes: whole.wishes.map(renamed) }, assignments: beside.map(shareTurns(whole, beside)) },
    expand: (solution) => ({
      ...solution,
      assignments: solution.assignments.flatMap(
        (place) => byName.get(place.item)?.map((wish) => ({ ...place, item: nameOf(owner, wish.item), bytes: bytesIn(wish) })) ?? [place],
      ),
    }),
  };
}

/** What a place of an engine that takes turns tells beside its share. */
export function awakeIn({ turns, demand }: Wish): Pick<Place, 'awakeBytes'> {
  return turns === true && 'bytes' in demand ? { awakeBytes: demand.bytes } : {};
}

/** Slots that a canary is looked for in at once, and what it needs there. */
export interface Part {
  readonly wish: Wish;
  readonly among: readonly string[];
}

/**
 * What a canary needs on each of these slots: beside engines of its owner that take turns a sleeper's bytes, and what it
 * has awake beyond the biggest of them; elsewhere all of it. Pure.
 */
export function partsInTurns(owner: Owner, wish: Wish, among: readonly string[], tenants: readonly Holder[]): readonly Part[] {
  if (wish.turns !== true || !('bytes' in wish.demand)) return [{ wish, among }];
  const awake = wish.demand.bytes;
  const own = tenants.filter((holder) => holder.owner.key === owner.key).flatMap(({ assignments }) => assignments);
  const at = (slot: string): readonly number[] =>
    own.flatMap(({ slot: where, awakeBytes }) => (where === slot && awakeBytes !== undefined ? [awakeBytes] : []));
  const joined = among.filter((slot) => at(slot).length > 0);
  const rest = among.filter((slot) => !joined.includes(slot));
  const share = (slot: string): number => roomOf([...at(slot), awake]) - roomOf(at(slot));
  const parts = joined.map((slot): Part => ({ wish: { ...wish, demand: { bytes: share(slot) } }, among: [slot] }));
  return rest.length === 0 ? parts : [...parts, { wish, among: rest }];
}
