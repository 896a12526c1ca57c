/** Most decisions that are remembered; the oldest give way. */
const most = 1024;

/**
 * What was last decided about what most nodes can do, so that one node which comes or goes does not turn everything over:
 * an ability is used from two thirds of the nodes on, and no more when less than a third has it. One for all controllers of
 * a process, because sandboxes that wait have to be what tasks would make. It is kept beside the caches, and follows nothing.
 */
export class NodeAbilities {
  readonly name = 'abilities of nodes';
  readonly #last = new Map<string, boolean>();

  /** Whether an ability is used that so many have of those that report. The same numbers give the same answer again. */
  used(key: string, able: number, reported: number): boolean {
    const before = this.#last.get(key) ?? false;
    if (reported === 0) return before;
    const now = able > 0 && able * 3 >= reported * (before ? 1 : 2);
    this.#last.delete(key);
    this.#last.set(key, now);
    const [oldest] = this.#last.keys();
    if (this.#last.size > most && oldest !== undefined) this.#last.delete(oldest);
    return now;
  }

  hasSynced(): boolean {
    return true;
  }

  waitForSync(): Promise<void> {
    return Promise.resolve();
  }

  run(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
}
