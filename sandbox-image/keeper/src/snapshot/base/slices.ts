// sandbox-image/keeper, snapshot/base: time slices of long loops. May import protocol alone.
import { setImmediate } from 'node:timers/promises';

/** Milliseconds that synchronous work may hold the event loop. */
const SLICE_MS = 15;

/**
 * Lets long synchronous loops share the event loop: `if (slices.due()) await slices.pause()`.
 * A `performance.now` per step (30 ns) is the whole cost while the slice lasts.
 */
export class Slices {
  readonly #signal: AbortSignal | undefined;
  #end = performance.now() + SLICE_MS;

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  due(): boolean {
    return performance.now() >= this.#end;
  }

  /** Yields to timers and I/O, then starts a new slice. Throws the signal's reason when aborted. */
  async pause(): Promise<void> {
    this.#signal?.throwIfAborted();
    await setImmediate();
    this.#signal?.throwIfAborted();
    this.#end = performance.now() + SLICE_MS;
  }
}
