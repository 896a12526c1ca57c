/** Lets one in at a time, in the order of asking. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` when all before it are done; one that was cancelled while it waited does not run. */
  run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(() => {
      signal.throwIfAborted();
      return work();
    });
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}
