import { asError } from '../runtime/errors.ts';

/** Runs until the signal is aborted. Rejecting stops the whole process. */
export interface Runnable {
  run(signal: AbortSignal): Promise<void>;
}

/** Parts that are started and stopped together. */
export class RunnableGroup {
  readonly #stopAll: AbortController;
  readonly #own = new AbortController();
  #running: Promise<void>[] = [];
  /** The first error of a part. */
  failure: Error | undefined;

  /** `stopAll` is aborted when a part fails. */
  constructor(stopAll: AbortController) {
    this.#stopAll = stopAll;
  }

  start(runnables: readonly Runnable[]): void {
    this.#running = runnables.map(async (runnable) => {
      try {
        await runnable.run(this.#own.signal);
      } catch (error) {
        this.failure ??= asError(error);
        this.#stopAll.abort();
      }
    });
  }

  /** Asks all parts to stop and resolves when they have. */
  async stop(): Promise<void> {
    this.#own.abort();
    await Promise.all(this.#running);
  }
}
