import { createHash } from 'node:crypto';
import type { PlanStatus } from '@agentfleet/protocol/api';
import { canonical } from '@agentfleet/kube';
import { chooseMode, slotClaimName, solve, type Mode, type ModeFacts, type Solution } from '../../placement/index.ts';
import type { Inventory, PlanSlot } from './inventory.ts';
import type { Owner } from './owners.ts';
import { isForeign, ownItem, problemOf, type Assignment, type Holder } from './problem.ts';

type Rejection = NonNullable<PlanStatus['rejected']>[number];

/** What becomes of the engines of one owner. */
export interface OwnerPlan {
  readonly plan: PlanStatus;
  /** Engines that want a GPU and have none. */
  readonly unplaced: readonly string[];
  /** Engines on a slot that cannot be used now; they wait there. */
  readonly stuck: readonly Assignment[];
  readonly modeLack: string | undefined;
}

/** Modes whose pods are made. */
const rendered: readonly Mode[] = ['DRA', 'WholeGPU', 'Env'];

const mostRejections = 64;

const hashOf = (text: string, digits: number): string => createHash('sha256').update(text).digest('hex').slice(0, digits);

/** Of mode and assignments, without whose turn it is to start. Nothing of the operator is in it. */
export function planHash(mode: Mode | undefined, assignments: readonly Assignment[]): string {
  return hashOf(canonical({ mode, assignments: assignments.map((place) => ({ ...place, admitted: true })) }), 16);
}

/** The claim that the pods of an engine name: another board or, where bytes are claimed, another size is another claim. */
function claimOf(owner: Owner, { item, bytes }: Assignment, slot: PlanSlot, deviceClass: string): string {
  const content = slot.sharedByBytes ? [slot.uuid, deviceClass, owner.key, item, bytes] : [slot.uuid, deviceClass];
  return `${slotClaimName(slot.name)}-${hashOf(content.join(' '), 10)}`;
}

function factsOf(owner: Owner, slots: readonly PlanSlot[], assignments: readonly Assignment[], inventory: Inventory): ModeFacts {
  const used = new Map(slots.map((slot) => [slot.name, slot]));
  const conflicts = [...new Set(slots.map(({ node }) => node))].flatMap((node) => inventory.conflicts.get(node) ?? []);
  return {
    resourceApi: inventory.resourceApi,
    deviceClass: inventory.deviceClass,
    conflicts,
    slots: [...used.values()].map(({ name, node, published }) => ({
      name,
      node,
      published,
      tenants: assignments.filter(({ slot }) => slot === name).length,
    })),
    pluginGpus: inventory.pluginGpus,
    runtimeClass: inventory.runtimeClass,
    injection: undefined,
    allowUnaccounted: owner.allowUnaccounted,
    rendered,
  };
}

/** Whether an engine may stay where it is: it still wants a GPU, and the user names no other one. */
function keeps(owner: Owner, { item }: Assignment): boolean {
  return owner.wishes.some((wish) => wish.item === item);
}

/** Places of the owner's engines in a solution. */
function placesOf(owner: Owner, solution: Solution): ReadonlyMap<string, Omit<Assignment, 'admitted'>> {
  return new Map(
    solution.assignments.flatMap(({ item: name, slots: [slot], bytes }) => {
      const item = ownItem(owner, name);
      return item === undefined || slot === undefined ? [] : [[item, { item, slot, bytes }] as const];
    }),
  );
}

function rejectionsOf(owner: Owner, solution: Solution, others: readonly Holder[], inventory: Inventory): readonly Rejection[] {
  const foreign = new Set(
    others.flatMap((holder) =>
      holder.assignments.filter((assignment) => isForeign(owner, holder, assignment, inventory)).map(({ slot }) => slot),
    ),
  );
  const unknown = owner.wishes.flatMap(({ item, demand }): readonly Rejection[] =>
    'lack' in demand ? [{ item, reason: 'SizeUnknown' }] : [],
  );
  const found = solution.rejections.flatMap(({ item: name, slot, reason, shortByBytes }): readonly Rejection[] => {
    const item = ownItem(owner, name);
    if (item === undefined) return [];
    const why = reason === 'Exclusive' && foreign.has(slot) ? 'HeldElsewhere' : reason;
    return [{ item, slot, reason: why, ...(shortByBytes === undefined ? {} : { shortByBytes: Math.max(1, shortByBytes) }) }];
  });
  // What the user forbids himself comes last: it is the least of news.
  const telling = ({ reason }: Rejection): number => Number(reason === 'NotAllowed');
  return [...unknown, ...found.sort((a, b) => telling(a) - telling(b))].slice(0, mostRejections);
}

/**
 * Where the engines go. When all fit: where the solver says. When not, those that have a place keep it and nothing moves,
 * unless a place was lost: then the most important ones are served and the others give way.
 */
function settle(
  owner: Owner,
  held: readonly Assignment[],
  solution: Solution,
  inventory: Inventory,
): readonly Omit<Assignment, 'admitted'>[] {
  const places = placesOf(owner, solution);
  const own = owner.wishes.map(({ item }) => item);
  const complete = own.every((item) => places.has(item));
  const faulty = new Set(inventory.slots.filter(({ fault }) => fault !== undefined).map(({ name }) => name));
  const lost = held.some(({ slot, item }) => faulty.has(slot) && places.has(item));
  if (complete) return [...places.values()];
  if (!lost) {
    const stay = new Map(held.map((assignment) => [assignment.item, assignment]));
    // At the first time there is nobody to be disturbed, and still nothing starts by halves.
    return own.flatMap((item) => stay.get(item) ?? []);
  }
  const stuck = held.filter(({ slot, item }) => faulty.has(slot) && !places.has(item));
  return [...places.values(), ...stuck];
}

function modeOf(owner: Owner, assignments: readonly { readonly slot: string }[], inventory: Inventory) {
  const names = new Set(assignments.map(({ slot }) => slot));
  const slots = inventory.slots.filter(({ name }) => names.has(name));
  const choice = chooseMode(owner.mode, factsOf(owner, slots, assignments as readonly Assignment[], inventory));
  const before = owner.plan?.mode;
  if (before === undefined || before === choice.mode || owner.mode !== 'Auto') return choice;
  // A better mode that came up would start everything anew: the one in force stays as long as it can be used.
  const stays = chooseMode(before, factsOf(owner, slots, assignments as readonly Assignment[], inventory));
  return stays.mode === undefined ? choice : stays;
}

/** The plan of an owner beside what all others hold. Pure and deterministic. */
export function planOwner(owner: Owner, others: readonly Holder[], inventory: Inventory): OwnerPlan {
  const held = (owner.plan?.assignments ?? []).filter((assignment) => keeps(owner, assignment));
  const solution = solve(problemOf(owner, held, others, inventory));
  const settled = settle(owner, held, solution, inventory);
  const { mode, skipped } = modeOf(owner, settled, inventory);
  // Without a mode nobody new gets a place; who has one keeps it.
  const kept = mode === undefined ? held : settled;
  const inForce = mode ?? owner.plan?.mode;
  const assignments = kept.map((place) => seat(owner, place, held, inForce, inventory)).sort((a, b) => (a.item < b.item ? -1 : 1));
  const rejected = rejectionsOf(owner, solution, others, inventory);
  const placed = new Set(assignments.map(({ item }) => item));
  const faulty = new Set(inventory.slots.filter(({ fault }) => fault !== undefined).map(({ name }) => name));
  return {
    plan: {
      hash: planHash(inForce, assignments),
      ...(inForce === undefined ? {} : { mode: inForce }),
      assignments,
      ...(rejected.length === 0 ? {} : { rejected: [...rejected] }),
      ...(skipped.length === 0
        ? {}
        : { skippedModes: skipped.map(({ mode: which, reason }) => ({ mode: which, reason: reason.slice(0, 512) })) }),
    },
    unplaced: owner.wishes.map(({ item }) => item).filter((item) => !placed.has(item) || rejected.some((word) => word.item === item)),
    stuck: assignments.filter(({ slot }) => faulty.has(slot)),
    modeLack: mode === undefined && owner.wishes.length > 0 && settled.length > 0 ? skipped.at(-1)?.reason : undefined,
  };
}

/** An assignment as it is published. Who stays on the same board keeps his turn. */
function seat(
  owner: Owner,
  place: Omit<Assignment, 'admitted'>,
  held: readonly Assignment[],
  mode: Mode | undefined,
  inventory: Inventory,
): Assignment {
  const { item, slot: name, bytes } = place;
  const slot = inventory.slots.find((known) => known.name === name);
  const before = held.find((assignment) => assignment.item === item && assignment.slot === name);
  const uuid = slot?.uuid ?? before?.uuid;
  const base: Assignment = { item, slot: name, ...(uuid === undefined || uuid === '' ? {} : { uuid }), bytes, admitted: false };
  const claim =
    mode !== 'DRA' ? undefined : slot?.published === true ? claimOf(owner, base, slot, inventory.driver.deviceClass) : before?.claim;
  const made = claim === undefined ? base : { ...base, claim };
  return { ...made, admitted: before?.admitted === true && before.uuid === made.uuid && before.claim === made.claim };
}
