import { ranks } from '../../placement/index.ts';
import type { Owner } from './owners.ts';
import { lacksHolder, type Assignment, type Holder } from './problem.ts';

/** How far the pods of an engine on its slot are. Stalled: they do not get on, and nobody waits for them. */
export type Progress = 'Absent' | 'Starting' | 'Ready' | 'Stalled';

export type ProgressOf = (owner: Owner, assignment: Assignment) => Progress;

interface Tenant {
  readonly holder: Holder;
  readonly assignment: Assignment;
}

function orderOf({ holder, assignment }: Tenant): string {
  const wish = holder.owner.wishes.find(({ item }) => item === assignment.item);
  const importance = ranks.length - ranks.indexOf(wish?.rank ?? 'Canary');
  return `${String(importance).padStart(2, '0')} ${holder.owner.key} ${assignment.item}`;
}

/**
 * Lets engines of one GPU start one after another: each measures the free memory when it loads, and two at once take it
 * from each other. The more important ones go first; the next one when all that may start are ready or do not get on. Pure.
 */
export function admit(holders: readonly Holder[], progress: ProgressOf): readonly Holder[] {
  const tenants = holders.flatMap((holder) => holder.assignments.map((assignment): Tenant => ({ holder, assignment })));
  const admitted = new Set<Assignment>();
  // Their supervisor keeps the order: a pod that got one engine after another would start all of them anew each time.
  for (const tenant of tenants) if (tenant.holder.mode === 'Monopod' && mayStart(tenant)) admitted.add(tenant.assignment);
  for (const slot of new Set(tenants.map(({ assignment }) => assignment.slot))) {
    const here = tenants.filter(({ assignment }) => assignment.slot === slot);
    const busy = here.some(({ holder, assignment }) => assignment.admitted && isBusy(progress(holder.owner, assignment)));
    const waiting = here
      .filter((tenant) => mayStart(tenant) && !admitted.has(tenant.assignment))
      .sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
    const [next] = waiting;
    if (!busy && next !== undefined) admitted.add(next.assignment);
  }
  return holders.map(({ assignments, ...holder }) => ({
    ...holder,
    assignments: assignments.map((assignment) => (admitted.has(assignment) ? { ...assignment, admitted: true } : assignment)),
  }));
}

/** One that is told to end starts no more, and one whose GPU is not held waits. */
function mayStart({ holder: { ending, mode }, assignment }: Tenant): boolean {
  return !assignment.admitted && ending?.has(assignment.item) !== true && !lacksHolder(mode, assignment);
}

/** Absent: it was let go and its pods are not seen yet. */
function isBusy(progress: Progress): boolean {
  return progress === 'Absent' || progress === 'Starting';
}
