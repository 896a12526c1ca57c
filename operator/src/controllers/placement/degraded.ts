import type { Degradation, DegradedState, PlanStatus } from '@agentfleet/protocol/api';
import { ranks, type Rank } from '../../placement/index.ts';
import type { Inventory } from './inventory.ts';
import type { Owner, Wish } from './owners.ts';
import type { Assignment, Holder, Place } from './problem.ts';
import type { Parts, Served } from './serve.ts';

/** What an owner goes without, by consent, since a GPU was lost. */
export interface Sacrifice {
  /** Its antiAffinity towards the verifier is set aside; of a model: that of pools that consent. */
  readonly sharing: boolean;
  /** Engines that run without the draft inside of them. */
  readonly undrafted: ReadonlySet<string>;
  /** Engines without a place: a Draft expert, or a model whose pods run on CPU. */
  readonly leftOut: ReadonlySet<string>;
}

export const nothing: Sacrifice = { sharing: false, undrafted: new Set(), leftOut: new Set() };

/** Time for which there has to be room for more before an engine is started anew for it: as long as such a start may take. */
export const restoreAfterMs = 120_000;

/** Faults of a slot that are losses: a board that two stacks hand out, or that nobody holds yet, is not lost. */
const losses: ReadonlySet<string | undefined> = new Set(['SlotTainted', 'SlotGone', 'SlotRebound', 'SlotPartitioned', 'SlotUnhealthy']);

export const faultySlots = ({ slots }: Inventory): ReadonlySet<string> =>
  new Set(slots.filter(({ fault }) => fault !== undefined).map(({ name }) => name));

/** Whether an engine of the owner has lost its GPU, or its share of one. */
export function isHit(owner: Owner, held: readonly Assignment[], { slots }: Inventory): boolean {
  const lost = new Set(slots.filter(({ fault }) => losses.has(fault?.reason)).map(({ name }) => name));
  return owner.hit === true || held.some(({ slot }) => lost.has(slot));
}

/** Whether an owner has agreed to go without something. */
export const consents = ({ consents: all }: Owner, to: Degradation): boolean => all?.has(to) === true;

/** What the plan in force goes without. Who agreed once and does so no longer keeps it until there is room. */
export function inForce(owner: Owner, wishes: readonly Wish[], others: readonly Holder[]): Sacrifice {
  const entries = (owner.plan?.degraded ?? []).flatMap(({ mode, item }) => {
    const wish = wishes.find((known) => known.item === item);
    return wish === undefined ? [] : [{ mode, wish }];
  });
  const of = (isOne: (mode: Degradation, wish: Wish) => boolean): ReadonlySet<string> =>
    new Set(entries.filter(({ mode, wish }) => isOne(mode, wish)).map(({ wish }) => wish.item));
  return {
    sharing: entries.some(({ mode }) => mode === 'SharedVerifier') || othersShare(owner, others).length > 0,
    undrafted: of((mode, wish) => mode === 'NoDraft' && wish.rank !== 'Draft' && wish.withoutDraft !== undefined),
    leftOut: of((mode, wish) => mode === 'CpuVerifier' || (mode === 'NoDraft' && wish.rank === 'Draft')),
  };
}

export function isNothing({ sharing, undrafted, leftOut }: Sacrifice): boolean {
  return !sharing && undrafted.size === 0 && leftOut.size === 0;
}

export function areSame(a: Sacrifice, b: Sacrifice): boolean {
  const same = (x: ReadonlySet<string>, y: ReadonlySet<string>): boolean => x.size === y.size && [...x].every((item) => y.has(item));
  return a.sharing === b.sharing && same(a.undrafted, b.undrafted) && same(a.leftOut, b.leftOut);
}

/** What an owner wants when it goes without something. */
export function reduced(parts: Parts, { sharing, undrafted, leftOut }: Sacrifice): Parts {
  const { serving, held } = parts;
  const wishes = serving.wishes.flatMap((wish): readonly Wish[] => {
    if (leftOut.has(wish.item)) return [];
    return [undrafted.has(wish.item) && wish.withoutDraft !== undefined ? { ...wish, demand: wish.withoutDraft, more: 0 } : wish];
  });
  return { ...parts, serving: { ...serving, wishes, sharing }, held: held.filter(({ item }) => !leftOut.has(item)) };
}

/** The model that a pool names; what it has may be told in parts. */
export function verifierOf(pool: Owner, holders: readonly Holder[]): readonly Holder[] {
  return holders.filter(
    ({ owner: { kind, name, namespace } }) => kind === 'EnergyModel' && name === pool.verifier && namespace === pool.namespace,
  );
}

/**
 * Whether the antiAffinity of a pool towards its verifier does not count in the search of one owner: of the two, each looks for places of
 * its own as it says; to all others they are where they are.
 */
export function isSetAside(pool: Owner, verifier: Owner, self: Owner): boolean {
  if (self.key === pool.key) return self.sharing === true;
  if (self.key !== verifier.key) return pool.sharing === true || verifier.sharing === true;
  return self.sharing === true && (pool.sharing === true || consents(pool, 'SharedVerifier'));
}

/** Pools that name a model. */
const poolsOf = (model: Owner, others: readonly Holder[]): readonly Holder[] =>
  others.filter(
    ({ owner: { kind, verifier, namespace } }) => kind === 'ExpertPool' && verifier === model.name && namespace === model.namespace,
  );

/** Whether somebody lets a verifier share its GPU. */
export function maySet(owner: Owner, others: readonly Holder[]): boolean {
  if (owner.kind === 'ExpertPool') return consents(owner, 'SharedVerifier');
  return poolsOf(owner, others).some((pool) => consents(pool.owner, 'SharedVerifier'));
}

/** What the others of whom it may share a GPU say of that. */
function othersShare(owner: Owner, others: readonly Holder[]): readonly DegradedState[] {
  const counterparts = owner.kind === 'ExpertPool' ? verifierOf(owner, others) : poolsOf(owner, others);
  return counterparts.flatMap((holder) => (holder.owner.plan?.degraded ?? []).filter(({ mode }) => mode === 'SharedVerifier'));
}

/** Whether who lost his GPU before can go back himself: then nobody else moves for it. */
export function isTheirs(owner: Owner, others: readonly Holder[]): boolean {
  const own = owner.plan?.degraded?.find(({ mode }) => mode === 'SharedVerifier')?.since ?? '~';
  return othersShare(owner, others).some(({ since, fitsSince }) => fitsSince !== undefined && since < own);
}

/** Whether a pool that names this verifier has room again: who gave way last comes back first. */
export function comesLater(owner: Owner, others: readonly Holder[]): boolean {
  const pools = owner.kind === 'EnergyModel' ? poolsOf(owner, others) : [];
  return pools.some(
    (pool) => pool.owner.plan?.degraded?.some(({ mode, fitsSince }) => mode === 'NoDraft' && fitsSince !== undefined) === true,
  );
}

const keepsAway = ({ apart }: Wish): boolean => apart.includes('EnergyModel');

/** Engines of an owner that share a GPU because an antiAffinity is set aside. */
export function sharers(owner: Owner, places: readonly Place[], others: readonly Holder[]): ReadonlySet<string> {
  const slotsOf = (holder: Holder, isOne: (item: string) => boolean): readonly string[] =>
    holder.assignments.filter(({ item }) => isOne(item)).map(({ slot }) => slot);
  if (owner.kind === 'ExpertPool') {
    const taken = verifierOf(owner, others).flatMap((holder) => slotsOf(holder, () => true));
    const kept = new Set(owner.wishes.filter(keepsAway).map(({ item }) => item));
    return new Set(places.filter(({ item, slot }) => kept.has(item) && taken.includes(slot)).map(({ item }) => item));
  }
  const taken = poolsOf(owner, others).flatMap((pool) => {
    const kept = new Set(pool.owner.wishes.filter(keepsAway).map(({ item }) => item));
    return slotsOf(pool, (item) => kept.has(item));
  });
  return new Set(places.filter(({ slot }) => taken.includes(slot)).map(({ item }) => item));
}

/** Going without by consent is a little less than losing the same. */
const byConsent = 0.5;
const worth = (rank: Rank): number => ranks.indexOf(rank);

/**
 * What a plan loses, the most important first: engines without a sound place by rank, a draft as one of its rank; sharing a GPU takes
 * nothing away from anybody and is the least. Canaries are not of it: they come last anyway.
 */
export function lossOf(wishes: readonly Wish[], served: Served, sacrifice: Sacrifice, faulty: ReadonlySet<string>): readonly number[] {
  // One that spans several GPUs has lost its place with one of them.
  const hurt = new Set(served.places.filter(({ slot }) => faulty.has(slot)).map(({ item }) => item));
  const sound = new Set(served.places.map(({ item }) => item).filter((item) => !hurt.has(item)));
  const lost = wishes.flatMap(({ item, rank }): readonly number[] => {
    if (sacrifice.leftOut.has(item)) return [worth(rank) - byConsent];
    if (!sound.has(item)) return [worth(rank)];
    return sacrifice.undrafted.has(item) ? [worth('Draft') - byConsent] : [];
  });
  return [...lost, ...(sacrifice.sharing ? [-1] : [])].sort((a, b) => b - a);
}

/** Whether a plan loses less than another one: the most important difference decides. */
export function losesLess(a: readonly number[], b: readonly number[]): boolean {
  for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
    const [mine = -Infinity, theirs = -Infinity] = [a[at], b[at]];
    if (mine !== theirs) return mine < theirs;
  }
  return false;
}

const second = (now: number): string => new Date(now).toISOString().replace(/\.\d+Z$/, 'Z');

interface Told {
  readonly sacrifice: Sacrifice;
  readonly sharing: ReadonlySet<string>;
  /** What a better plan goes without, which is for long enough to be there; undefined: there is none. */
  readonly fits: Sacrifice | undefined;
  readonly now: number;
}

/** Entries of `status.plan.degraded`, with the times that it had. */
export function entriesOf({ plan, wishes }: Owner, { sacrifice, sharing, fits, now }: Told): readonly DegradedState[] {
  const { undrafted, leftOut } = sacrifice;
  // Nothing ends with it, and somebody gets a place for whom another one moves.
  const waits = fits !== undefined && areSame(fits, sacrifice);
  const entry = (mode: Degradation, item: string, stays: boolean | undefined): DegradedState => {
    const before = plan?.degraded?.find((known) => known.mode === mode && known.item === item);
    const since = before?.since ?? second(now);
    const known = before?.fitsSince;
    // A clock that is behind the one before has seen nothing yet.
    const fitsSince = known === undefined || Date.parse(known) > now ? second(now) : known;
    return { mode, item, since, ...(stays === false || waits ? { fitsSince } : {}) };
  };
  return wishes.flatMap(({ item, rank }) => [
    ...(undrafted.has(item) ? [entry('NoDraft', item, fits?.undrafted.has(item))] : []),
    ...(sharing.has(item) ? [entry('SharedVerifier', item, fits?.sharing)] : []),
    ...(leftOut.has(item) ? [entry(rank === 'Draft' ? 'NoDraft' : 'CpuVerifier', item, fits?.leftOut.has(item))] : []),
  ]);
}

/** When an entry has had room for long enough, ms; undefined: there is none now. */
export function endsAt({ fitsSince }: DegradedState): number | undefined {
  return fitsSince === undefined ? undefined : Date.parse(fitsSince) + restoreAfterMs;
}

/** Marks the assignments of engines that run without their draft. */
export function markOf({ undrafted }: Sacrifice): (place: Assignment) => Assignment {
  return (place) => (undrafted.has(place.item) ? { ...place, withoutDraft: true } : place);
}

/** The entries as a plan has them. */
export function entriesIn(degraded: readonly DegradedState[]): Pick<PlanStatus, 'degraded'> {
  return degraded.length === 0 ? {} : { degraded: [...degraded] };
}

/** A plan as it is in force: who has a place and may start on it needs no CPU any more. */
export function withoutAdmitted({ degraded = [], ...plan }: PlanStatus): PlanStatus {
  const started = new Set(plan.assignments.filter(({ admitted }) => admitted).map(({ item }) => item));
  return { ...plan, ...entriesIn(degraded.filter(({ mode, item }) => mode !== 'CpuVerifier' || !started.has(item))) };
}
