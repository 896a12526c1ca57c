import { isConflict, isNotFound, requeueAfter, type Outcome } from '@agentfleet/kube';

/**
 * A newer version is on its way to the cache; its arrival wakes the object before this passes, as a rule. A cache that lags
 * behind is tried again less and less often.
 */
export const conflictMs = { first: 50, newer: 2_000, gone: 60_000 } as const;

/** Backoff after writes to what is newer, or gone, than the cache shows, by key. */
export class ConflictBackoff {
  /** Conflicts one after the other. */
  readonly #met = new Map<string, number>();

  get size(): number {
    return this.#met.size;
  }

  forget(key: string): void {
    this.#met.delete(key);
  }

  /** Returns the outcome of what writes, or when to try again after a conflict. `Again`: it met one, and nothing of it is written. */
  async tried(key: string, write: () => Promise<Outcome | 'Again'>): Promise<Outcome> {
    try {
      const outcome = await write();
      if (outcome === 'Again') return this.#later(key, conflictMs.newer);
      this.forget(key);
      return outcome;
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
      return this.#later(key, isConflict(error) ? conflictMs.newer : conflictMs.gone);
    }
  }

  #later(key: string, longestMs: number): Outcome {
    const before = this.#met.get(key) ?? 0;
    this.#met.set(key, before + 1);
    return requeueAfter(Math.min(longestMs, conflictMs.first * 2 ** Math.min(before, 20)));
  }
}
