import type { Clock } from '@agentfleet/kube';

/** Answers that are remembered, of any kind: more than there are pods or callers at once, few enough for the memory. */
const most = 4096;

/** Puts a value behind all others of a map; of more than `most` the first one goes. */
export function keepNewest<T>(map: Map<string, T>, key: string, value: T, most: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}

interface Known<T> {
  readonly value: T;
  /** Monotonic ms at which it came. */
  readonly at: number;
}

/** Answers that are trusted for a while, by their subject; of too many the one that was asked for longest ago gives way. */
export class Remembered<T> {
  readonly #clock: Clock;
  readonly #believedMs: (value: T) => number;
  readonly #known = new Map<string, Known<T>>();

  /** `believedMs`: how long an answer counts. */
  constructor(clock: Clock, believedMs: (value: T) => number) {
    this.#clock = clock;
    this.#believedMs = believedMs;
  }

  /** Returns the trusted answer, or else a new one; `before` is the expired one. Rejects as `ask` does, and then remembers nothing. */
  async of(key: string, ask: (before: T | undefined) => Promise<T>): Promise<T> {
    const known = this.#known.get(key);
    const isBelieved = known !== undefined && this.#clock.monotonic() - known.at < this.#believedMs(known.value);
    const value = isBelieved ? known.value : await ask(known?.value);
    keepNewest(this.#known, key, { value, at: isBelieved ? known.at : this.#clock.monotonic() }, most);
    return value;
  }
}
