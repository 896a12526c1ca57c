import { GatewayError } from './failure.ts';

export interface LaneLimits {
  readonly concurrency: number;
  readonly requestsPerMinute?: number | undefined;
}

/** Requests of a model that may wait; for each that may be under way. */
const waitingForEach = 16;
const minuteMs = 60_000;

/**
 * The requests of one model: so many under way, so many begun in any minute, the others in the order in which they came.
 * Limits are those of this process; they may change while requests wait.
 */
export class Lane {
  readonly #now: () => number;
  #limits: LaneLimits;
  #underWay = 0;
  /** What lets each go. */
  readonly #waiting: (() => void)[] = [];
  /** When the requests of the last minute began. */
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
   * Resolves when the request may begin, with what ends it.
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
    const turn = Promise.withResolvers<void>();
    const place = (): void => turn.resolve();
    const leave = (): void => {
      const at = this.#waiting.indexOf(place);
      if (at !== -1) this.#waiting.splice(at, 1);
      turn.reject(signal.reason as Error);
    };
    this.#waiting.push(place);
    signal.addEventListener('abort', leave, { once: true });
    this.#advance();
    try {
      await turn.promise;
    } finally {
      signal.removeEventListener('abort', leave);
    }
    return this.#leaving();
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
    while (this.#waiting.length > 0 && this.#underWay < this.#limits.concurrency && this.#untilNext() === 0) {
      this.#underWay += 1;
      this.#begun.push(this.#now());
      this.#waiting.shift()?.();
    }
    const wait = this.#untilNext();
    if (this.#waiting.length === 0 || wait === 0 || this.#timer !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#advance();
    }, wait);
    this.#timer.unref();
  }

  /** How long until the rate allows one more, ms. */
  #untilNext(): number {
    const { requestsPerMinute } = this.#limits;
    const from = this.#now() - minuteMs;
    this.#begun = this.#begun.filter((at) => at > from);
    if (requestsPerMinute === undefined || this.#begun.length < requestsPerMinute) return 0;
    return Math.max(1, Math.ceil((this.#begun.at(-requestsPerMinute) ?? from) - from));
  }
}
