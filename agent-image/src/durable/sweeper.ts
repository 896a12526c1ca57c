import { asError, deadline, type Clock, type Log } from '@agentfleet/kube';
import type { ArtifactStore } from '../store/index.ts';
import { graceMs, sweep } from './sweep.ts';

export interface SweeperOptions {
  readonly worker: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Longest that a sweep may take, ms; what it did not come to is for the next one. */
const sweepMs = 10 * 60_000;

/** Sweeps each store once in a while, when a task has ended. */
export class Sweeper {
  readonly #options: SweeperOptions;
  readonly #sweptAt = new Map<ArtifactStore, number>();

  constructor(options: SweeperOptions) {
    this.#options = options;
  }

  /** Sweeps a store unless that was done lately; never rejects. */
  async taskEnded(store: ArtifactStore): Promise<void> {
    const { clock, log, worker } = this.#options;
    const now = clock.monotonic();
    if (now - (this.#sweptAt.get(store) ?? Number.NEGATIVE_INFINITY) < graceMs) return;
    this.#sweptAt.set(store, now);
    const limit = deadline(clock, sweepMs);
    try {
      const swept = await sweep({ store, clock, log, worker }, limit.signal);
      if (swept.removed + swept.removedTasks + swept.doomed > 0) log.info('what no checkpoint names was swept', { ...swept });
    } catch (error) {
      log.warn('the store was not swept', { error: asError(error).message });
    } finally {
      limit.dispose();
    }
  }
}
