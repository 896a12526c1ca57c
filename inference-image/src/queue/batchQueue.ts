import type { Ability } from '../base/served.ts';
import { InferenceError } from '../base/failure.ts';

export interface QueueOptions<Request, Result> {
  readonly answer: Ability<Request, Result>;
  /** Requests that may wait. */
  readonly limit: number;
  /** Requests that the engine gets at once. */
  readonly batchLimit: number;
  /** Waits a moment for more callers before a batch that is not full; absent: requests of the same turn only. */
  readonly linger?: (signal: AbortSignal) => Promise<void>;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly onBatch?: (requests: readonly Request[]) => void;
}

interface Waiting<Request, Result> {
  readonly request: Request;
  readonly signal: AbortSignal;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** Weight of the newest batch in the mean time per request. */
const newest = 0.3;

/** First come, first served, in batches. Bounded: a full queue refuses at once. */
export class BatchQueue<Request, Result> {
  readonly #options: QueueOptions<Request, Result>;
  readonly #waiting: Waiting<Request, Result>[] = [];
  readonly #stopping = new AbortController();
  #full = new AbortController();
  #running: Promise<void> | null = null;
  #closed = false;
  /** Mean time of one request, milliseconds. */
  #millis = 100;

  constructor(options: QueueOptions<Request, Result>) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Whole seconds after which a place may be free. */
  get retryAfterSeconds(): number {
    return Math.min(60, Math.max(1, Math.ceil((this.#waiting.length * this.#millis) / 1000)));
  }

  /** @throws InferenceError `AF_QUEUE_FULL`, `AF_STOPPING`, or the engine's refusal */
  submit(request: Request, signal: AbortSignal): Promise<Result> {
    if (this.#closed) return Promise.reject(new InferenceError('AF_STOPPING', 'the server is stopping'));
    if (this.#waiting.length >= this.#options.limit) {
      return Promise.reject(new InferenceError('AF_QUEUE_FULL', `${this.#waiting.length} requests wait already`));
    }
    const answer = new Promise<Result>((resolve, reject) => this.#waiting.push({ request, signal, resolve, reject }));
    if (this.#waiting.length >= this.#options.batchLimit) this.#full.abort();
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
    return answer;
  }

  /** Takes no more requests and finishes waiting ones; `now` drops them. */
  async close(now: AbortSignal): Promise<void> {
    this.#closed = true;
    const giveUp = (): void => {
      this.#stopping.abort();
      for (const { reject } of this.#waiting.splice(0)) reject(new InferenceError('AF_STOPPING', 'the server is stopping'));
    };
    if (now.aborted) giveUp();
    now.addEventListener('abort', giveUp, { once: true });
    await this.#running;
  }

  async #run(): Promise<void> {
    // Requests of the same turn join one batch.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      await this.#gather();
      const batch = this.#waiting.splice(0, this.#options.batchLimit).filter(({ signal, reject }) => {
        if (signal.aborted) reject(new InferenceError('AF_CANCELLED', 'the caller left'));
        return !signal.aborted;
      });
      if (batch.length > 0) await this.#answer(batch);
    }
  }

  /** Gives other callers the moment to join; ends at once when the batch is full or the server stops. */
  async #gather(): Promise<void> {
    const { linger, batchLimit } = this.#options;
    if (linger === undefined || this.#waiting.length >= batchLimit) return;
    this.#full = new AbortController();
    await linger(AbortSignal.any([this.#full.signal, this.#stopping.signal]));
  }

  async #answer(batch: readonly Waiting<Request, Result>[]): Promise<void> {
    const { answer, now, onBatch } = this.#options;
    const requests = batch.map((waiting) => waiting.request);
    onBatch?.(requests);
    const started = now();
    const signal = AbortSignal.any([this.#stopping.signal, allAborted(batch.map((waiting) => waiting.signal))]);
    try {
      const answers = await answer(requests, signal);
      for (const [at, { resolve, reject }] of batch.entries()) {
        const outcome = answers[at] ?? { error: new Error(`the engine left out request ${at} of ${batch.length}`) };
        if ('answer' in outcome) resolve(outcome.answer);
        else reject(outcome.error);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    this.#millis += newest * ((now() - started) / batch.length - this.#millis);
  }
}

/** Fires when no caller waits for the batch any more. */
function allAborted(signals: readonly AbortSignal[]): AbortSignal {
  const all = new AbortController();
  const check = (): void => {
    if (signals.every((signal) => signal.aborted)) all.abort();
  };
  for (const signal of signals) signal.addEventListener('abort', check, { once: true });
  return all.signal;
}
