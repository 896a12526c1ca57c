/** Lets one after the other work, in the order in which they came. */
export class Turn {
  #last: Promise<void> = Promise.resolve();

  async take<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#last;
    const mine = Promise.withResolvers<void>();
    this.#last = mine.promise;
    await before;
    try {
      return await work();
    } finally {
      mine.resolve();
    }
  }
}
