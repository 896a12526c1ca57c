import { GatewayError } from './providers/gatewayError.ts';

/** A request that waits. */
interface Waiting {
  readonly start: () => void;
  /** It repeats one that is under way, in another form, and has its place. */
  readonly isWithin: boolean;
}

interface LaneLimits {
  readonly concurrency: number;
  readonly requestsPerMinute?: number | undefined;
}

/** Requests of a model that may wait; for each that may be under way. */
const waitingForEach = 16;
const minuteMs = 60_000;

/**
 * Limits the requests of one model: running ones, and those started in any minute; others wait in the order of arrival.
 * Limits are those of this process; they may change while requests wait.
 */
export class Lane {
  readonly #now: () => number;
  #limits: LaneLimits;
  #underWay = 0;
  readonly #waiting: Waiting[] = [];
  /** Start times of requests in the last minute. */
  #begun: number[] = [];
  #timer: NodeJS.Timeout | null = null;

  /** @param now monotonic milliseconds */
  constructor(limits: LaneLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  get underWay(): number {
    return this.#underWay;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  set limits(limits: LaneLimits) {
    this.#limits = limits;
    this.#advance();
  }

  /**
   * Resolves with a release function when the request may begin.
   * @throws GatewayError when too many wait; the signal's reason
   */
  async enter(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const { concurrency } = this.#limits;
    if (this.#waiting.length >= concurrency * waitingForEach)
      throw new GatewayError('RateLimited', `${this.#waiting.length} requests wait for this model; raise its concurrency or ask later`, {
        retryAfterMs: Math.max(1000, this.#untilNext()),
        isOwn: true,
      });
    await this.#turn(signal, false);
    return this.#leaving();
  }

  /** Resolves when a request that is under way may be repeated in another form: it has its place, and counts anew. @throws the signal's reason */
  again(signal: AbortSignal): Promise<void> {
    return this.#turn(signal, true);
  }

  async #turn(signal: AbortSignal, isWithin: boolean): Promise<void> {
    signal.throwIfAborted();
    const turn = Promise.withResolvers<void>();
    const waiting = { start: turn.resolve, isWithin };
    const leave = (): void => {
      const at = this.#waiting.indexOf(waiting);
      if (at !== -1) this.#waiting.splice(at, 1);
      turn.reject(signal.reason as Error);
    };
    // Those under way first: others wait for their places.
    if (isWithin) this.#waiting.unshift(waiting);
    else this.#waiting.push(waiting);
    signal.addEventListener('abort', leave, { once: true });
    this.#advance();
    try {
      await turn.promise;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  #leaving(): () => void {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#underWay -= 1;
      this.#advance();
    };
  }

  #advance(): void {
    for (let next = this.#waiting[0]; next !== undefined && this.#untilNext() === 0; next = this.#waiting[0]) {
      if (!next.isWithin && this.#underWay >= this.#limits.concurrency) break;
      this.#underWay += next.isWithin ? 0 : 1;
      this.#begun.push(this.#now());
      this.#waiting.shift()?.start();
    }
    const wait = this.#untilNext();
    if (this.#waiting.length === 0 || wait === 0 || this.#timer !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#advance();
    }, wait);
    this.#timer.unref();
  }

  /** Returns how long until the rate allows one more, ms. */
  #untilNext(): number {
    const { requestsPerMinute } = this.#limits;
    const from = this.#now() - minuteMs;
    this.#begun = this.#begun.filter((at) => at > from);
    if (requestsPerMinute === undefined || this.#begun.length < requestsPerMinute) return 0;
    return Math.max(1, Math.ceil((this.#begun.at(-requestsPerMinute) ?? from) - from));
  }
}
