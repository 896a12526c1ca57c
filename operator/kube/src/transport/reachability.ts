import { type Random, sleep, type Clock, unlessAborted } from '../runtime/clock.ts';
import { isApiError } from './apiError.ts';
import { isKubeError } from '../runtime/errors.ts';

/** Between two looks, ms. The longest one bounds how late a server that is back is noticed. */
const shortestLookMs = 100;
const longestLookMs = 1000;

export interface ReachabilityOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Asks the server whether it is ready; true when it answered something that a server in service answers. */
  readonly probe: (signal: AbortSignal) => Promise<boolean>;
}

/**
 * One place to wait for a server that does not answer. However many caches wait, one request at a time looks for it,
 * and none looks while no cache waits: a server that comes back meets one question a second from each process, not a
 * crowd, and those who wait come back within a second of its answer.
 */
export class Reachability {
  readonly #options: ReachabilityOptions;
  #waiting = 0;
  #search: Promise<void> | undefined;
  #stop = new AbortController();

  constructor(options: ReachabilityOptions) {
    this.#options = options;
  }

  /** Resolves when the server answered a look that began or was under way now, or on abort. Never rejects. */
  async answered(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    if (this.#waiting === 0) this.#stop = new AbortController();
    this.#waiting += 1;
    const search = (this.#search ??= this.#look(this.#stop.signal).finally(() => (this.#search = undefined)));
    try {
      await unlessAborted(search, signal).catch(() => {});
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#stop.abort();
    }
  }

  async #look(stop: AbortSignal): Promise<void> {
    const { clock, random, probe } = this.#options;
    let pause = shortestLookMs;
    while (!stop.aborted && !(await probe(stop))) {
      // Two processes that lost the server at the same moment do not look in step.
      await sleep(clock, pause * (0.75 + random() * 0.25), stop);
      pause = Math.min(longestLookMs, pause * 1.5);
    }
  }
}

/** Reports whether the result of a look shows a server in service: 5xx and 429 are of one that starts, ends or is overrun. */
export function inService(error: unknown): boolean {
  if (isApiError(error)) return error.code < 500 && error.code !== 429;
  return !isKubeError(error, 'AF_API_UNREACHABLE') && !isKubeError(error, 'AF_API_TIMEOUT');
}
