// agent-image, base: callers that wait for the next change. May import protocol, kube and the keeper's client, no other folder.

/** Callers that wait for the next change of something. */
export class Waiters {
  readonly #waiting = new Set<() => void>();

  /** Resolves at the next change, or when the signal is aborted; never rejects. */
  async next(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = (): void => resolve();
    this.#waiting.add(wake);
    signal.addEventListener('abort', wake, { once: true });
    await promise;
    this.#waiting.delete(wake);
    signal.removeEventListener('abort', wake);
  }

  wake(): void {
    for (const wake of this.#waiting) wake();
  }
}
