/** Runs asynchronous jobs one after another, in the order of the calls; a failed one does not stop the next. */
export class Serial {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(job: () => Promise<T>): Promise<T> {
    const next = this.#last.then(job);
    this.#last = next.catch(() => undefined);
    return next;
  }

  /** Resolves when all jobs so far have ended. */
  async idle(): Promise<void> {
    await this.#last;
  }
}
