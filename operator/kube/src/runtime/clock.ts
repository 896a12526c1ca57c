// operator/kube, runtime: clock, timers, deadlines, backoff and slices of long work. Imports nothing of other folders.

/** A timer that has been set. */
export interface Timer {
  /** Idempotent; after it the function is never called. */
  cancel(): void;
}

/** Time, injected everywhere so that tests own it. */
export interface Clock {
  /** Wall time in ms since the epoch: for timestamps that others read, never for measuring. */
  now(): number;
  /** Monotonic ms: for every deadline, age and expiry. */
  monotonic(): number;
  after(ms: number, run: () => void): Timer;
}

/** `setTimeout` with a longer delay fires after 1 ms instead. */
const longestTimeoutMs = 2 ** 31 - 1;

function after(ms: number, run: () => void): Timer {
  let rest = Math.max(0, ms);
  let handle: NodeJS.Timeout;
  const arm = (): void => {
    const step = Math.min(rest, longestTimeoutMs);
    rest -= step;
    handle = setTimeout(() => (rest > 0 ? arm() : run()), step);
  };
  arm();
  return { cancel: () => clearTimeout(handle) };
}

/** The clock of this process. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after,
};

/** Waits `ms`; true when the time has passed, false as soon as the signal is aborted. Never rejects. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<boolean> {
  if (signal?.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const onAbort = (): void => {
      timer.cancel();
      resolve(false);
    };
    const timer = clock.after(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve(true);
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** RFC 3339 with seconds, the form of `metav1.Time`. Go writers emit no fraction; a fraction would differ at every apply. */
export function timestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** Time after which those who wait for the first list of a cache give up. */
export const firstListMs = 120_000;

/** RFC 3339 with six digits, the form of `metav1.MicroTime`, which refuses fewer. */
export function microTimestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 23)}000Z`;
}

/** A signal that follows a parent and a time limit. Use it by `using`, or call `dispose`: it frees the timer and the listener. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
  /** True when the limit, not the parent, ended it. */
  readonly expired: () => boolean;
  dispose(): void;
}

/** Cheaper than `AbortSignal.any`, and it lets go of a long-lived parent. */
export function deadline(clock: Clock, ms: number, parent?: AbortSignal): Deadline {
  const controller = new AbortController();
  let expired = false;
  const follow = (): void => controller.abort(parent?.reason);
  if (parent?.aborted) follow();
  parent?.addEventListener('abort', follow, { once: true });
  const timer = clock.after(ms, () => {
    expired = true;
    controller.abort(new DOMException('time limit', 'TimeoutError'));
  });
  const dispose = (): void => {
    timer.cancel();
    parent?.removeEventListener('abort', follow);
  };
  return { signal: controller.signal, expired: () => expired, dispose, [Symbol.dispose]: dispose };
}

/** The result of a promise, or the reason of the signal as soon as that is aborted. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([aborted.promise, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** A random number in [0, 1). */
export type Random = () => number;

export interface BackoffOptions {
  readonly baseMs: number;
  readonly factor: number;
  readonly capMs: number;
  /** A delay is drawn from [d, d·(1 + jitter)). */
  readonly jitter: number;
  /** Starts again at the base after this long without a failure. */
  readonly resetMs: number;
}

/** Of client-go's reflector: 800 ms ×2 to 30 s, jitter 1.0, reset after 2 min (tools/cache/reflector.go). */
export const reflectorBackoff: BackoffOptions = { baseMs: 800, factor: 2, capMs: 30_000, jitter: 1, resetMs: 120_000 };

/** After a connection broke and the server answers again: short, because one request looked for it on behalf of all. */
export const reconnectBackoff: BackoffOptions = { baseMs: 250, factor: 2, capMs: 1000, jitter: 1, resetMs: 120_000 };

/** Exponential delays with jitter that forget old failures. */
export class Backoff {
  readonly #options: BackoffOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  #step = 0;
  #lastFailure = -Infinity;

  constructor(options: BackoffOptions, clock: Clock, random: Random) {
    this.#options = options;
    this.#clock = clock;
    this.#random = random;
  }

  /** Notes a success: the next failure is the first one. */
  reset(): void {
    this.#step = 0;
  }

  /** Records a failure; ms to wait before the next try. */
  next(): number {
    const { baseMs, factor, capMs, jitter, resetMs } = this.#options;
    const now = this.#clock.monotonic();
    if (now - this.#lastFailure > resetMs) this.#step = 0;
    this.#lastFailure = now;
    const delay = Math.min(capMs, baseMs * factor ** Math.min(this.#step, 64));
    this.#step += 1;
    return delay * (1 + this.#random() * jitter);
  }
}

/** Work between two yields to the event loop, ms: long work must not delay timers and renewals. */
const sliceMs = 8;

/** Cuts long work into slices. */
export interface Slices {
  /** True when the slice is over. */
  due(): boolean;
  /** Lets others run and begins a new slice. */
  yield(): Promise<void>;
}

/** The first slice begins now. */
export function slices(clock: Clock): Slices {
  let begin = clock.monotonic();
  return {
    due: () => clock.monotonic() - begin >= sliceMs,
    yield: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      begin = clock.monotonic();
    },
  };
}
