// train, numeric: seeded random numbers. May import inference-image, eval and protocol.
import { seeded } from '@agentfleet/eval/stats';

/** A seeded source of numbers: equal seeds give equal runs. */
export class Random {
  /** 0 ≤ x < 1. */
  readonly next: () => number;

  constructor(seed: number) {
    this.next = seeded(seed);
  }

  /** 0 … n − 1. */
  below(n: number): number {
    return Math.floor(this.next() * n);
  }

  /** From the standard normal distribution (Box and Muller). */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next());
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }

  shuffle<T>(from: readonly T[]): T[] {
    const all = [...from];
    for (let i = all.length - 1; i > 0; i -= 1) {
      const j = this.below(i + 1);
      [all[i], all[j]] = [all[j] as T, all[i] as T];
    }
    return all;
  }
}
