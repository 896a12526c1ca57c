import type { AttemptContext, AttemptEngine, Outcome, Restored } from '../attempt/ports.ts';

/** One engine call, running or ended. */
export interface EngineCall {
  readonly kind: 'run' | 'Initial' | 'LastGreen';
  readonly context: AttemptContext;
  /** Reason of the abort, when there was one. */
  readonly aborted: () => unknown;
  ended: boolean;
  /** Ends a run. */
  finish(outcome: Outcome): void;
  fail(error: Error): void;
}

/** An engine with scripted results, which records when a task has two calls at a time. */
export class ScriptedEngine implements AttemptEngine {
  readonly calls: EngineCall[] = [];
  /** Two calls of one task at a time; must stay empty. */
  readonly overlaps: string[] = [];
  /** Answers of rollbacks, in order; the last one stays. */
  restored: readonly (Restored | Error)[] = [{ snapshot: 's0000', verified: true }];
  /** Outcome of a run that is asked to stop; undefined: it rejects. */
  onStop: Outcome | undefined;
  /** Outcome of a run that is asked to end for another reason; undefined: it rejects. */
  onOther: Outcome | undefined;
  /** Resolved when runs that are aborted may end. */
  mayEnd: Promise<void> = Promise.resolve();
  #rollbacks = 0;

  get last(): EngineCall | undefined {
    return this.calls.at(-1);
  }

  run(context: AttemptContext): Promise<Outcome> {
    const { signal } = context;
    return new Promise((resolve, reject) => {
      const call = this.#begin('run', context);
      call.finish = (outcome) => {
        call.ended = true;
        resolve(outcome);
      };
      call.fail = (error) => {
        call.ended = true;
        reject(error);
      };
      // An engine takes a moment to stop: the next call must wait for it.
      const stop = (): void => {
        const reason: unknown = signal.reason;
        const answer = reason === 'Stop' ? this.onStop : this.onOther;
        const end = (): void => (answer === undefined ? call.fail(new Error(String(reason))) : call.finish(answer));
        this.mayEnd.then(
          () => setImmediate(end),
          (error: Error) => call.fail(error),
        );
      };
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
    });
  }

  async rollback(context: AttemptContext, which: 'Initial' | 'LastGreen'): Promise<Restored> {
    const call = this.#begin(which, context);
    await Promise.resolve();
    call.ended = true;
    const answer = this.restored[Math.min(this.#rollbacks, this.restored.length - 1)];
    this.#rollbacks += 1;
    if (answer === undefined || answer instanceof Error) throw answer ?? new Error('no answer is scripted');
    return answer;
  }

  #begin(kind: EngineCall['kind'], context: AttemptContext): EngineCall {
    const { uid = '' } = context.task.metadata;
    if (this.calls.some((other) => !other.ended && other.context.task.metadata.uid === uid)) this.overlaps.push(`${kind} of ${uid}`);
    const aborted = (): unknown => (context.signal.aborted ? context.signal.reason : undefined);
    const call: EngineCall = { kind, context, aborted, ended: false, finish: () => {}, fail: () => {} };
    this.calls.push(call);
    return call;
  }
}
