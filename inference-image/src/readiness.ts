/** A proof is believed for this long, milliseconds. */
const freshMs = 60_000;

/** Gets a real answer for each capability. @throws Error when one fails */
export interface Provable {
  prove(): Promise<void>;
}

/** Ready = the engine has really answered for each capability not long ago, and the server is not stopping. */
export class Readiness {
  readonly #engine: Provable;
  readonly #now: () => number;
  #provedAt: number | null = null;
  #proving: Promise<string | null> | null = null;
  #stopping = false;

  /** @param now monotonic milliseconds */
  constructor(engine: Provable, now: () => number) {
    this.#engine = engine;
    this.#now = now;
  }

  get ready(): boolean {
    return !this.#stopping && this.#provedAt !== null;
  }

  /** Why it is not ready, one sentence; null when it is. */
  async check(): Promise<string | null> {
    if (this.#stopping) return 'the server is stopping';
    if (this.#provedAt !== null && this.#now() - this.#provedAt < freshMs) return null;
    this.#proving ??= this.#prove().finally(() => {
      this.#proving = null;
    });
    return this.#proving;
  }

  stop(): void {
    this.#stopping = true;
  }

  async #prove(): Promise<string | null> {
    try {
      await this.#engine.prove();
      this.#provedAt = this.#now();
      return null;
    } catch (error) {
      this.#provedAt = null;
      return `the engine does not answer: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
}
