import type { Clock } from '../runtime/clock.ts';
import { KubeError } from '../runtime/errors.ts';

/** Those who wait for a cache to reach a state. */
export class VersionWaiters {
  readonly #clock: Clock;
  readonly #where: string;
  readonly #checks = new Set<() => void>();

  constructor(clock: Clock, where: string) {
    this.#clock = clock;
    this.#where = where;
  }

  /** The cache went on. */
  wake(): void {
    for (const check of this.#checks) check();
  }

  wait(reached: () => boolean, what: string, timeoutMs: number, signal?: AbortSignal): Promise<void> {
    if (reached()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const end = (error?: KubeError): void => {
        this.#checks.delete(check);
        timer.cancel();
        signal?.removeEventListener('abort', stop);
        if (error) reject(error);
        else resolve();
      };
      const fail = (code: 'AF_CACHE_NOT_SYNCED' | 'AF_STOPPED', why: string, cure: string): void =>
        end(new KubeError(code, { what: `${why} before the cache had ${what}`, where: this.#where, cure }));
      const check = (): void => {
        if (reached()) end();
      };
      const stop = (): void => fail('AF_STOPPED', 'stopped', 'Nothing to do');
      const timer = this.#clock.after(timeoutMs, () =>
        fail('AF_CACHE_NOT_SYNCED', `${timeoutMs} ms passed`, 'Check that the resource exists and may be listed and watched'),
      );
      this.#checks.add(check);
      signal?.addEventListener('abort', stop, { once: true });
      if (signal?.aborted) stop();
    });
  }
}
