/** Numbers in [0, 1) that are the same for the same seed (Park and Miller's generator). */
export function randomOf(seed: number): () => number {
  let state = (seed % 2_147_483_646) + 1;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

/** Time that passes by its own events only. */
export class VirtualClock {
  readonly #events: { readonly at: number; readonly order: number; readonly run: () => void }[] = [];
  #now = 0;
  #order = 0;

  readonly now = (): number => this.#now;

  /** Runs once after so many ms, unless the function returned is called before. */
  readonly after = (millis: number, run: () => void): (() => void) => {
    const event = { at: this.#now + millis, order: this.#order++, run };
    const place = this.#events.findLastIndex(({ at }) => at <= event.at) + 1;
    this.#events.splice(place, 0, event);
    return () => {
      const index = this.#events.indexOf(event);
      if (index >= 0) this.#events.splice(index, 1);
    };
  };

  /** Lets time pass until then. */
  runUntil(end: number): void {
    for (let next = this.#events[0]; next !== undefined && next.at <= end; next = this.#events[0]) {
      this.#events.shift();
      this.#now = next.at;
      next.run();
    }
    this.#now = end;
  }
}
