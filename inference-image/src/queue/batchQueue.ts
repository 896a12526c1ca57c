import type { GenerateRequest } from '@agentfleet/protocol/inference';
import type { Engine, Generated } from '../engines/engine.ts';
import { InferenceError } from '../failure.ts';

export interface QueueOptions {
  readonly engine: Engine;
  /** Requests that may wait. */
  readonly limit: number;
  /** Requests that the engine gets at once. */
  readonly batchLimit: number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly onBatch?: (requests: number) => void;
}

interface Waiting {
  readonly request: GenerateRequest;
  readonly signal: AbortSignal;
  readonly resolve: (generated: Generated) => void;
  readonly reject: (error: unknown) => void;
}

/** Weight of the newest batch in the mean time per request. */
const newest = 0.3;

/** First come, first served, in batches. Bounded: a full queue refuses at once. */
export class BatchQueue {
  readonly #options: QueueOptions;
  readonly #waiting: Waiting[] = [];
  readonly #stopping = new AbortController();
  #running: Promise<void> | null = null;
  #closed = false;
  /** Mean time of one request, milliseconds. */
  #millis = 100;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Whole seconds after which a place may be free. */
  get retryAfterSeconds(): number {
    return Math.min(60, Math.max(1, Math.ceil((this.#waiting.length * this.#millis) / 1000)));
  }

  /** @throws InferenceError `AF_QUEUE_FULL`, `AF_STOPPING`, or what the engine refuses with */
  submit(request: GenerateRequest, signal: AbortSignal): Promise<Generated> {
    if (this.#closed) return Promise.reject(new InferenceError('AF_STOPPING', 'the server is stopping'));
    if (this.#waiting.length >= this.#options.limit) {
      return Promise.reject(new InferenceError('AF_QUEUE_FULL', `${this.#waiting.length} requests wait already`));
    }
    const answer = new Promise<Generated>((resolve, reject) => this.#waiting.push({ request, signal, resolve, reject }));
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
    return answer;
  }

  /** Takes nothing more and finishes what waits; `now` gives that up. */
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
    // Requests of the same turn come together into one batch.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#options.batchLimit).filter(({ signal, reject }) => {
        if (signal.aborted) reject(new InferenceError('AF_CANCELLED', 'the caller left'));
        return !signal.aborted;
      });
      if (batch.length > 0) await this.#answer(batch);
    }
  }

  async #answer(batch: readonly Waiting[]): Promise<void> {
    const { engine, now, onBatch } = this.#options;
    onBatch?.(batch.length);
    const started = now();
    const signal = AbortSignal.any([this.#stopping.signal, allAborted(batch.map((waiting) => waiting.signal))]);
    try {
      const outcomes = await engine.generate(
        batch.map((waiting) => waiting.request),
        signal,
      );
      for (const [at, { resolve, reject }] of batch.entries()) {
        const outcome = outcomes[at] ?? { error: new Error(`the engine left out request ${at} of ${batch.length}`) };
        if ('generated' in outcome) resolve(outcome.generated);
        else reject(outcome.error);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    this.#millis += newest * ((now() - started) / batch.length - this.#millis);
  }
}

/** Fires when nobody waits for the batch any more. */
function allAborted(signals: readonly AbortSignal[]): AbortSignal {
  const all = new AbortController();
  const check = (): void => {
    if (signals.every((signal) => signal.aborted)) all.abort();
  };
  for (const signal of signals) signal.addEventListener('abort', check, { once: true });
  return all.signal;
}
