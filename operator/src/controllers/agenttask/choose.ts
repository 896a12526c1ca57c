import type { Approval } from '@agentfleet/protocol/api';
import { refusalOf } from './acceptance.ts';
import { awaitedAct } from './approvals.ts';
import { backoffUntil, type Books, type Ending } from './attempts.ts';
import type { Course } from './course.ts';
import type { Facts } from './facts.ts';
import { placing } from './placing.ts';
import { spentSandbox } from './start.ts';
import { restOf } from './suspension.ts';
import { undoing } from './undo.ts';
import type { Verdict } from './verdict.ts';

/** What the status will say about attempts and decisions of people. */
export interface Records {
  readonly books: Books;
  readonly approvals: readonly Approval[];
}

/** Chooses the course. `ending` is that of the attempt that ends now; the books hold it. Pure. */
export function courseOf(facts: Facts, { books, approvals }: Records, ending: Ending | undefined, verdict: Verdict | undefined): Course {
  const { status, spec, assignment, cancel, snapshot } = facts;
  if (status.finished === 'true') return { kind: 'Ended' };
  if (verdict !== undefined) return undoing(facts, books, verdict);
  const open = facts.open && ending === undefined;
  if (open && cancel === 'Stop') return { kind: 'Stop' };
  if (open && !spec.suspend && assignment?.directive === 'Run') {
    const pending = awaitedAct(facts, approvals);
    return pending === undefined ? { kind: 'Run' } : { kind: 'Await', pending };
  }
  if (spec.suspend) {
    const refusal = assignment === undefined ? refusalOf(snapshot, false) : undefined;
    if (refusal !== undefined) return { kind: 'Refuse', refusal };
    const spent = facts.sandbox !== undefined && facts.sandbox.metadata.name === spentSandbox(facts, books.attempts);
    return { kind: 'Suspend', rest: spent ? 'Ending' : restOf(facts) };
  }
  return placing(facts, books, open ? 0 : backoffUntil(books.attempts, spec));
}
