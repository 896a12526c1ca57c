/**
 * How many copies a worker has under way. Real requests go first: where more of them wait for an answer than copies may be
 * under way, no copy is sent.
 */
export class Lane {
  #copies = 0;
  #real = 0;

  /** Takes a place for a copy; false: there is none, and the copy is dropped. */
  enter(most: number): boolean {
    if (this.#copies >= most || this.#real > most) return false;
    this.#copies += 1;
    return true;
  }

  leave(): void {
    this.#copies -= 1;
  }

  /** A real request waits for its answer, until the function is called. */
  waits(): () => void {
    this.#real += 1;
    return () => void (this.#real -= 1);
  }
}
