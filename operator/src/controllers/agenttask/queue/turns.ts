/** Negative when the first is served before the second, 0 only when they are the same. */
export type Order<T> = (a: T, b: T) => number;

/** Elements of one run; a longer one is split, a run and its neighbour that fit into half of it are joined. */
const longestRun = 512;

/**
 * A sorted collection in runs of at most 512 elements: finding, adding and removing cost O(log n) comparisons, telling a
 * rank one addition for each run besides. It holds 8 bytes for an element, and no element twice. `K`: what the order
 * looks at.
 */
export class Turns<K, T extends K = K> {
  readonly #order: Order<K>;
  readonly #runs: T[][] = [];
  #size = 0;

  constructor(order: Order<K>) {
    this.#order = order;
  }

  get size(): number {
    return this.#size;
  }

  /** Must not be there yet. */
  add(element: T): void {
    this.#size += 1;
    const at = Math.min(this.#runOf(element), this.#runs.length - 1);
    const run = this.#runs[at];
    if (run === undefined) {
      this.#runs.push([element]);
      return;
    }
    run.splice(this.#before(run, element), 0, element);
    if (run.length > longestRun) this.#runs.splice(at + 1, 0, run.splice(longestRun / 2));
  }

  /** Whether it was there. */
  delete(element: K): boolean {
    const at = this.#runOf(element);
    const run = this.#runs[at];
    if (run === undefined) return false;
    const index = this.#before(run, element);
    const found = run[index];
    if (found === undefined || this.#order(found, element) !== 0) return false;
    run.splice(index, 1);
    this.#size -= 1;
    this.#join(at);
    return true;
  }

  /** How many are served before it, whether it is there or not. */
  rank(element: K): number {
    const at = this.#runOf(element);
    let rank = 0;
    for (let run = 0; run < at; run += 1) rank += this.#runs[run]?.length ?? 0;
    const run = this.#runs[at];
    return run === undefined ? rank : rank + this.#before(run, element);
  }

  /** The element of a rank. */
  at(rank: number): T | undefined {
    let left = rank;
    for (const run of this.#runs) {
      if (left < run.length) return run[left];
      left -= run.length;
    }
    return undefined;
  }

  /** In turn; the collection must not change meanwhile. */
  *[Symbol.iterator](): Generator<T, undefined> {
    for (const run of this.#runs) yield* run;
    return undefined;
  }

  /** The first run whose last element is not before it. */
  #runOf(element: K): number {
    let [low, high] = [0, this.#runs.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const last = this.#runs[middle]?.at(-1);
      if (last !== undefined && this.#order(last, element) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** How many of a run are before it. */
  #before(run: readonly T[], element: K): number {
    let [low, high] = [0, run.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const found = run[middle];
      if (found !== undefined && this.#order(found, element) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #join(at: number): void {
    const [run, next] = [this.#runs[at], this.#runs[at + 1]];
    if (run?.length === 0) this.#runs.splice(at, 1);
    else if (run !== undefined && next !== undefined && run.length + next.length <= longestRun / 2)
      this.#runs.splice(at, 2, [...run, ...next]);
  }
}
