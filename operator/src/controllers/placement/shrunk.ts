import type { Assignment, Inventory, Owner } from './model/index.ts';
import { ranks } from '../../placement/index.ts';

/** How important an engine is; one that nobody wishes any more is the least. */
function worth({ wishes }: Owner, { item }: Assignment): number {
  const rank = wishes.find((wish) => wish.item === item)?.rank;
  return rank === undefined ? -1 : ranks.indexOf(rank);
}

/** Tenants of slots that have less memory than before, as far as it is not enough for them: the least important, and who came last. */
function tooMuch(owners: readonly Owner[], { slots }: Inventory): ReadonlySet<Assignment> {
  const tenants = owners.flatMap((owner, age) =>
    (owner.plan?.assignments ?? []).map((assignment) => ({ assignment, age, worth: worth(owner, assignment) })),
  );
  const out = new Set<Assignment>();
  for (const { name, usableBytes, fault } of slots) {
    if (fault !== undefined) continue;
    let left = usableBytes;
    const here = tenants.filter(({ assignment }) => assignment.slot === name).sort((a, b) => b.worth - a.worth || a.age - b.age);
    for (const { assignment } of here) {
      if (assignment.bytes > left) out.add(assignment);
      else left -= assignment.bytes;
    }
  }
  return out;
}

/** Owners as they are when a slot has shrunk: without the places that are not there any more. In the order in which they came. Pure. */
export function onWhatIsLeft(owners: readonly Owner[], inventory: Inventory): readonly Owner[] {
  const out = tooMuch(owners, inventory);
  if (out.size === 0) return owners;
  return owners.map((owner) => {
    const { plan } = owner;
    if (plan === undefined || !plan.assignments.some((assignment) => out.has(assignment))) return owner;
    const items = new Set(plan.assignments.filter((assignment) => out.has(assignment)).map(({ item }) => item));
    return { ...owner, hit: true, plan: { ...plan, assignments: plan.assignments.filter(({ item }) => !items.has(item)) } };
  });
}
