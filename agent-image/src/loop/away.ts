import { AttemptFailure } from '../attempt/failure.ts';
import type { Scope } from '../attempt/scope.ts';
import { sleep } from '@agentfleet/kube';
/** How long a model that does not answer is waited for, and between two tries; ms. */
const away = { mostMs: 600_000, betweenMs: 15_000 };

/** Waits for a model that is away; its time is not of the budget, but of the deadline. @throws AttemptFailure Infrastructure */
export async function whenReachable<T>({ context, meter, progress }: Scope, ask: () => Promise<T>): Promise<T> {
  const until = context.clock.monotonic() + away.mostMs;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const passes = error instanceof AttemptFailure && error.failureClass === 'Infrastructure';
      if (!passes || context.clock.monotonic() > until) throw error;
      progress.say(`waiting for the model: ${error.message}`, { urgent: true });
    }
    const resume = meter.pause();
    await sleep(context.clock, away.betweenMs, context.signal).finally(resume);
    context.signal.throwIfAborted();
  }
}
