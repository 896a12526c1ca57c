import type { Solution } from '../../placement/index.ts';
import type { Inventory } from './inventory.ts';
import type { Owner } from './owners.ts';
import { isForeign, ownItem, type Holder, type Place, type Rejection } from './problem.ts';

/** Places of the owner's engines in a solution. */
export function placesOf(owner: Owner, solution: Solution): ReadonlyMap<string, Place> {
  const wished = new Set(owner.wishes.map(({ item }) => item));
  return new Map(
    solution.assignments.flatMap(({ item: name, slots: [slot], bytes }) => {
      const item = ownItem(owner, name);
      return item === undefined || slot === undefined || !wished.has(item) ? [] : [[item, { item, slot, bytes }] as const];
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
    'lack' in demand ? [{ item, reason: 'SizeUnknown' }] : [],
  );
  const found = solution.rejections.flatMap(({ item: name, slot, reason, shortByBytes }): readonly Rejection[] => {
    const item = ownItem(owner, name);
    if (!owner.wishes.some((wish) => wish.item === item) || item === undefined) return [];
    const why = reason === 'Exclusive' && foreign.has(slot) ? 'HeldElsewhere' : reason;
    return [{ item, slot, reason: why, ...(shortByBytes === undefined ? {} : { shortByBytes: Math.max(1, shortByBytes) }) }];
  });
  // What the user forbids himself comes last: it is the least of news.
  const telling = ({ reason }: Rejection): number => Number(reason === 'NotAllowed');
  return [...unknown, ...found.sort((a, b) => telling(a) - telling(b))];
}
