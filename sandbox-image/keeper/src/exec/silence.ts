import type { Clock } from '../clock.ts';

/**
 * Notices that a command says nothing for a while, once in each silence. It only observes. Output costs no timer: the one
 * that runs is set anew when it fires too early.
 */
export class Silence {
  readonly #ms: number;
  readonly #clock: Clock;
  readonly #onQuiet: (silentMs: number) => void;
  #last = 0;
  #stop: (() => void) | null = null;
  #over = false;

  constructor(ms: number, clock: Clock, onQuiet: (silentMs: number) => void) {
    this.#ms = ms;
    this.#clock = clock;
    this.#onQuiet = onQuiet;
  }

  /** The command began, or said something. */
  heard(): void {
    if (this.#over) return;
    this.#last = this.#clock.now();
    if (this.#stop === null) this.#arm(this.#ms);
  }

  end(): void {
    this.#over = true;
    this.#stop?.();
    this.#stop = null;
  }

  #arm(ms: number): void {
    this.#stop = this.#clock.after(ms, () => {
      this.#stop = null;
      const silentMs = this.#clock.now() - this.#last;
      if (silentMs < this.#ms) return this.#arm(this.#ms - silentMs);
      this.#onQuiet(silentMs);
    });
  }
}
