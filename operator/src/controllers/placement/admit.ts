import type { Assignment, Holder, Owner } from './model/index.ts';
import { ranks } from '../../placement/index.ts';
import { lacksHolder } from './problem.ts';

/** How far the pods of an engine on its slot are. Stalled: they do not get on, and nobody waits for them. */
export type Progress = 'Absent' | 'Starting' | 'Ready' | 'Stalled';

export type ProgressOf = (owner: Owner, assignment: Assignment) => Progress;

/** An engine with its slots, one for each GPU that shares its weights. */
interface Tenant {
  readonly holder: Holder;
  readonly item: string;
  readonly assignments: readonly Assignment[];
}

function tenantsOf(holder: Holder): readonly Tenant[] {
  const items = [...new Set(holder.assignments.map(({ item }) => item))];
  return items.map((item) => ({ holder, item, assignments: holder.assignments.filter((assignment) => assignment.item === item) }));
}

function orderOf({ holder, item }: Tenant): string {
  const wish = holder.owner.wishes.find((known) => known.item === item);
  const importance = ranks.length - ranks.indexOf(wish?.rank ?? 'Canary');
  return `${String(importance).padStart(2, '0')} ${holder.owner.key} ${item}`;
}

/**
 * Lets engines of one GPU start one after another: each measures the free memory when it loads, and two at once take it
 * from each other. The more important ones go first; the next one when all that may start are ready or do not get on. One on
 * several GPUs starts when all of them are free, and keeps those that are for itself until then. On a slot of `stale` nobody
 * starts: the memory of who moved away or was deleted is free when his pods are gone. Pure.
 */
export function admit(holders: readonly Holder[], progress: ProgressOf, stale: ReadonlySet<string> = new Set()): readonly Holder[] {
  const tenants = holders.flatMap(tenantsOf);
  const admitted = new Set<Assignment>();
  const taken = new Set([...stale, ...tenants.flatMap((tenant) => busySlots(tenant, progress))]);
  const waiting = tenants.filter((tenant) => mayStart(tenant));
  for (const { assignments } of waiting.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))) {
    if (assignments.every(({ slot }) => !taken.has(slot))) for (const assignment of assignments) admitted.add(assignment);
    for (const { slot } of assignments) taken.add(slot);
  }
  return holders.map(({ assignments, ...holder }) => ({
    ...holder,
    assignments: assignments.map((assignment) => (admitted.has(assignment) ? { ...assignment, admitted: true } : assignment)),
  }));
}

/** One that is asked to end starts no more, and one whose GPU is not held waits. */
function mayStart({ holder: { ending, mode }, item, assignments }: Tenant): boolean {
  return ending?.has(item) !== true && assignments.every((assignment) => !assignment.admitted && !lacksHolder(mode, assignment));
}

/** Slots on which an engine starts. */
function busySlots({ holder, assignments }: Tenant, progress: ProgressOf): readonly string[] {
  const starts = assignments.some((assignment) => assignment.admitted && isBusy(progress(holder.owner, assignment)));
  return starts ? assignments.map(({ slot }) => slot) : [];
}

/** Absent: it was let go and its pods are not seen yet. */
function isBusy(progress: Progress): boolean {
  return progress === 'Absent' || progress === 'Starting';
}
