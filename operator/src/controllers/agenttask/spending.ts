import { keyOf } from '@agentfleet/kube';
import type { ExpertPool, Reason } from '@agentfleet/protocol/api';
import { amountOf, excessMessage, excessOf, remainingOf, type Amount, type Held, type SpendingBook } from '../../pools/spending.ts';
import type { Books } from './attempts.ts';
import type { Transition } from './transition.ts';
import type { Facts } from './facts.ts';
import type { Action, DesiredStatus } from './snapshot.ts';

/** What is set aside for a task in the book of a pool. */
export interface HeldIn extends Held {
  /** `namespace/name` of the pool. */
  readonly pool: string;
}

/** What the books tell of a task. */
export interface SpendingView {
  /** The book of its pool; null: it cannot be read. Absent: the pool caps nothing. */
  readonly book?: SpendingBook | null;
  /** Absent: nothing is set aside for it. */
  readonly held?: HeldIn;
}

/** Reason of a task that waits because it would exceed a cap. */
export const spendingReason = 'SpendingCapReached';

/** Reason of a task whose last attempt is being charged. */
export const unsettledReason = 'SpendingNotSettled';

/** A look at the book besides those that its changes cause, ms. */
const lookMs = 300_000;

type Wait = Extract<Transition, { kind: 'Wait' }>;

/** What has to be set aside before the next attempt begins; or why it waits; undefined: nothing. Pure. */
export function spendingFor(facts: Facts, books: Books, pool: ExpertPool): Held | Wait | undefined {
  const { spending: view } = facts.snapshot;
  const attempt = nextAttempt(facts, books);
  const wait = (reason: Reason, message: string, untilMs: number): Wait => ({ kind: 'Wait', reason, message, untilMs, queued: true });
  if (view?.held !== undefined && view.held.attempt !== attempt)
    return wait(unsettledReason, `attempt ${view.held.attempt} is being charged to ExpertPool ${view.held.pool}`, facts.now + 1000);
  const { spending } = pool.spec.limits ?? {};
  if (spending === undefined) return undefined;
  if (view?.book === null || view?.book === undefined) {
    const message = `what the tasks of ExpertPool ${keyOf(pool)} have spent cannot be read: its ConfigMap with the label agentfleet.dev/pool and the key spending.json is damaged; correct it, or delete it, by which the window begins anew`;
    return wait('SpendingUnknown', message, facts.now + lookMs);
  }
  const { name, namespace = '', uid = '' } = facts.task.metadata;
  const held = { uid, namespace, name, attempt, ...remainingOf(facts.task, pool, books.totals?.usage) };
  const excess = excessOf(view.book, spending, held, facts.now);
  return excess === undefined ? held : wait(spendingReason, excessMessage(keyOf(pool), excess), Math.min(excess.until, facts.now + lookMs));
}

/** The attempt that a Bind begins or goes on with. */
function nextAttempt({ assignment }: Facts, { attempts }: Books): number {
  if (assignment === undefined) return 1;
  return attempts.at(-1)?.number === assignment.attempt ? assignment.attempt + 1 : assignment.attempt;
}

/**
 * What is to be charged of what is set aside: all that an ended attempt used; nothing when it does not come to begin. What
 * was set aside where no books tell what was used: there the attempt is older than those that the status shows. Pure.
 */
export function settlementOf({ snapshot, assignment }: Facts, transition: Transition, status: DesiredStatus): readonly Action[] {
  const { held } = snapshot.spending ?? {};
  if (held === undefined || transition.kind === 'Bind') return [];
  const charge = (amount: Amount | null): readonly Action[] => [{ type: 'settleSpending', held, amount }];
  const closed = status.attempts?.find(({ number }) => number === held.attempt);
  if (closed !== undefined) return charge(amountOf(closed.usage));
  const { attempt = 0 } = status.assignment ?? assignment ?? {};
  if (attempt < held.attempt) return charge({ tokens: 0, micros: 0 });
  return attempt === held.attempt && status.finished !== 'true' ? [] : charge(null);
}
