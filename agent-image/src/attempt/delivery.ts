import { changedFiles, type DeliveryOrder } from '../delivery/index.ts';
import { asksForAnswer, shownAnswer } from './artifacts.ts';
import { checkResults, type Ledger } from './closing.ts';
import { poolRules } from './sandboxSession.ts';
import type { Scope } from './scope.ts';

/**
 * Brings a result that succeeded to its repository, where spec.output asks for that, and reports where it is. The result stays
 * good whatever a server says of it: the report has the reason then.
 */
export async function deliverResult(scope: Scope, ledger: Ledger): Promise<void> {
  const { context, options, session, deliveries, progress } = scope;
  const { task, pool, assignment, clock, signal } = context;
  const { prepared, result, answer, discard = [] } = ledger;
  if (task.spec.output === undefined || options.deliver === undefined || prepared === undefined || result === undefined) return;
  const [before, after] = await Promise.all(
    [prepared.initial.id, result.id].map((id) => session.call((keeper) => keeper.manifest(id, signal))),
  );
  const made = new Set(discard);
  if (asksForAnswer(task.spec.checks)) made.add('answer.md');
  const order: DeliveryOrder = {
    task,
    attempt: assignment.attempt,
    files: changedFiles(before ?? Buffer.alloc(0), after ?? Buffer.alloc(0)).filter(({ shown }) => !made.has(shown)),
    checks: checkResults(ledger.proofs.map(({ run }) => run)),
    ...(answer !== undefined && { answer: shownAnswer(answer) }),
  };
  const output = await options.deliver(order, {
    read: (parts) => session.call((keeper) => keeper.exportParts(parts, signal)),
    note: (kind, data) => session.note(kind, data),
    intentDurable: () => context.intentDurable(),
    before: deliveries,
    credentials: pool.credentials,
    rules: poolRules(pool),
    clock,
    signal,
    say: (message) => progress.say(message, { urgent: true }),
  });
  context.report({ output }, { urgent: true });
  const { reason, message } = output;
  if (reason !== undefined) context.log.warn('a result could not be delivered', { reason, message });
}
