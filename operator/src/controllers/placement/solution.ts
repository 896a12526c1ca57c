import type { Holder, Inventory, Owner, Place, Rejection } from './model/index.ts';
import type { Solution } from '../../placement/index.ts';
import { isForeign, ownItem } from './problem.ts';

/** Places of the owner's engines in a solution, one for each slot of an engine. */
export function placesOf(owner: Owner, solution: Solution): ReadonlyMap<string, readonly Place[]> {
  const wished = new Set(owner.wishes.map(({ item }) => item));
  return new Map(
    solution.assignments.flatMap(({ item: name, slots, bytes }) => {
      const item = ownItem(owner, name);
      return item === undefined || !wished.has(item) ? [] : [[item, slots.map((slot) => ({ item, slot, bytes }))] as const];
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
  const unknown = owner.wishes.flatMap(({ item, demand }): readonly Rejection[] =>
    'lack' in demand ? [{ item, reason: demand.reason ?? 'SizeUnknown' }] : [],
  );
  const spans = (item: string): boolean =>
    owner.wishes.some((wish) => wish.item === item && (wish.shards ?? 1) > 1 && wish.slots === undefined);
  const found = solution.rejections.flatMap(({ item: name, slot, reason, shortByBytes }): readonly Rejection[] => {
    const item = ownItem(owner, name);
    if (!owner.wishes.some((wish) => wish.item === item) || item === undefined) return [];
    const held = reason === 'Exclusive' && foreign.has(slot) ? 'HeldElsewhere' : reason;
    // It names none, or all that it needs: a slot that is left out is not joined.
    const why = held === 'NotAllowed' && spans(item) ? 'NotJoined' : held;
    return [{ item, slot, reason: why, ...(shortByBytes === undefined ? {} : { shortByBytes: Math.max(1, shortByBytes) }) }];
  });
  // What the user forbids himself comes last: it is the least of news.
  const telling = ({ reason }: Rejection): number => Number(reason === 'NotAllowed');
  return [...unknown, ...found.sort((a, b) => telling(a) - telling(b))];
}
