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

/** RFC 3339 with six digits, the form of `metav1.MicroTime`, which refuses fewer. */
export function microTimestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 23)}000Z`;
}
