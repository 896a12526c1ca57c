/** Runs asynchronous jobs one after another, in the order of the calls; a failed one does not stop the next. Imports nothing. */
export class Serial {
  #last: Promise<unknown> = Promise.resolve();
  #jobs = 0;

  /** Whether a job runs or waits. */
  get busy(): boolean {
    return this.#jobs > 0;
  }

  /** A job whose signal is aborted while it waits does not run; it rejects with the signal's reason. */
  run<T>(job: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    this.#jobs += 1;
    const turn = this.#last
      .then(() => {
        signal?.throwIfAborted();
        return job();
      })
      .finally(() => (this.#jobs -= 1));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /** Resolves when all jobs so far have ended. */
  async idle(): Promise<void> {
    await this.#last;
  }
}
