import { Backoff, reconnectBackoff, reflectorBackoff, type BackoffOptions, type Random } from '../runtime/backoff.ts';
import { sleep, type Clock } from '../runtime/clock.ts';
import { isKubeError } from '../runtime/errors.ts';
import { isApiError, isGone, isNotFound, isVersionTooLarge } from '../transport/apiError.ts';
import type { Transport } from '../transport/types.ts';

/** A watch that lived this long was healthy: what failed before it is forgotten. */
const healthyMs = 2000;

/** The server may ask to stay away for longer than we would; not for ever. */
const longestRetryAfterMs = 60_000;

export interface RecoveryOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  /** In place of all of the three. */
  readonly backoff?: BackoffOptions;
}

/** Whether after this failure only a new list can be trusted: the version is gone, or what came was damaged. */
export function needsList(error: unknown): boolean {
  // A resource that is not served lost its objects with its definition; when it is back, it is another one.
  return isGone(error) || isVersionTooLarge(error) || isNotFound(error) || isKubeError(error, 'AF_API_MALFORMED');
}

/**
 * How long a reflector stays away after a failure. Three counts, because three things fail apart:
 * the way to the server (wait together until it answers, then soon), the server's answer (client-go's rule, and not
 * before the time that the answer names), and the data (client-go's rule, and only two quiet minutes forgive it, since
 * each try costs a whole list). The first two are forgiven by one healthy watch, so that an API server that dies every
 * few minutes is met as soon the tenth time as the first.
 */
export class Recovery {
  readonly #options: RecoveryOptions;
  readonly #reconnect: Backoff;
  readonly #refused: Backoff;
  readonly #relist: Backoff;
  #openedAt: number | undefined;

  constructor(options: RecoveryOptions) {
    this.#options = options;
    const { clock, random, backoff } = options;
    this.#reconnect = new Backoff(backoff ?? reconnectBackoff, clock, random);
    this.#refused = new Backoff(backoff ?? reflectorBackoff, clock, random);
    this.#relist = new Backoff(backoff ?? reflectorBackoff, clock, random);
  }

  /** The server shows the present state and its changes from now on. */
  opened(): void {
    this.#openedAt = this.#options.clock.monotonic();
  }

  /** The watch ended, well or not. */
  closed(): void {
    if (this.#openedAt !== undefined && this.#options.clock.monotonic() - this.#openedAt >= healthyMs) {
      this.#reconnect.reset();
      this.#refused.reset();
    }
    this.#openedAt = undefined;
  }

  /** Waits as this failure demands; without an error after a watch that ended too soon. */
  async wait(error: unknown, signal: AbortSignal): Promise<void> {
    const { transport, clock } = this.#options;
    const broken = isKubeError(error, 'AF_API_UNREACHABLE');
    if (broken || isKubeError(error, 'AF_API_TIMEOUT')) await transport.reachability?.answered(signal);
    const asked = isApiError(error) ? Math.min(longestRetryAfterMs, error.retryAfterMs ?? 0) : 0;
    const backoff = broken ? this.#reconnect : needsList(error) ? this.#relist : this.#refused;
    await sleep(clock, Math.max(asked, backoff.next()), signal);
  }
}
