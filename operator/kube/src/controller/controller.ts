import type { Registry } from 'prom-client';
import { parseKey, type ObjectKey, type ObjectName } from '../api/object.ts';
import { systemClock, type Clock } from '../runtime/clock.ts';
import { deadline } from '../runtime/deadline.ts';
import { asError, isFenced } from '../runtime/errors.ts';
import { silentLog, withFields, type Log } from '../runtime/log.ts';
import type { RateLimiter } from '../queue/limiter.ts';
import { WorkQueue, type QueueItem } from '../queue/queue.ts';
import { ReconcileFloor } from './floor.ts';
import { TerminalError, type Outcome } from './outcome.ts';
import { noReconcileMetrics, reconcileMetrics, type ReconcileMetrics } from './reconcileMetrics.ts';
import type { Enqueue, Source } from './source.ts';

/** What one reconcile may use. */
export interface ReconcileContext {
  readonly name: ObjectName;
  /** Aborted at the time limit and when the controller must end at once. */
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly clock: Clock;
  readonly priority: number;
}

/** Brings the object of the key nearer to what it should be. Throws to be called again after a wait. */
export type Reconcile = (key: ObjectKey, context: ReconcileContext) => Promise<Outcome>;

/** Puts a reconcile off while a cache has not seen our own writes. */
export interface ReadinessGate {
  /** Ms to wait before asking again, or 0 when the caches are good enough. */
  waitMs(key: ObjectKey): number;
}

export interface ControllerOptions {
  readonly name: string;
  readonly sources: readonly Source[];
  readonly reconcile: Reconcile;
  /** Default 1, as in controller-runtime. */
  readonly maxConcurrent?: number;
  /** Time limit of one reconcile, ms; default 60 s. */
  readonly timeoutMs?: number;
  /** How long `run` waits for each source's first list; default 2 min. */
  readonly syncTimeoutMs?: number;
  /** Least time between the beginnings of two reconciles of one object, ms; default 0. What comes sooner waits. */
  readonly floorMs?: number;
  readonly limiter?: RateLimiter;
  readonly gate?: ReadinessGate;
  readonly clock?: Clock;
  readonly log?: Log;
  readonly registry?: Registry | undefined;
}

/** Works on keys with reconcile, never on one key twice at a time (controller-runtime pkg/internal/controller). */
export class Controller {
  readonly name: string;
  readonly queue: WorkQueue;
  readonly #options: ControllerOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #metrics: ReconcileMetrics;
  readonly #floor: ReconcileFloor;
  readonly #kill = new AbortController();
  #started = false;

  constructor(options: ControllerOptions) {
    this.name = options.name;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#log = withFields(options.log ?? silentLog, { controller: options.name });
    const { name, registry, limiter, floorMs = 0 } = options;
    this.#floor = new ReconcileFloor(this.#clock, floorMs);
    this.queue = new WorkQueue({ name, clock: this.#clock, registry, ...(limiter === undefined ? {} : { limiter }) });
    this.#metrics = registry === undefined ? noReconcileMetrics : reconcileMetrics(registry, name, options.maxConcurrent ?? 1);
  }

  readonly enqueue: Enqueue = (key, options = {}) => {
    if (options.afterMs === undefined) this.queue.add(key, options);
    else this.queue.addAfter(key, options.afterMs, options);
  };

  hasSynced(): boolean {
    return this.#options.sources.every((source) => source.hasSynced());
  }

  /**
   * Waits for the caches, then works until the signal is aborted, then lets the reconciles in flight end.
   * Rejects with AF_CACHE_NOT_SYNCED when a cache does not fill; it has done no work then.
   */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#started) throw new Error(`controller ${this.name} ran already`);
    this.#started = true;
    const { sources, syncTimeoutMs = 120_000, maxConcurrent = 1 } = this.#options;
    // Sources feed the queue before the caches are full: what comes early waits in the queue.
    const stops = sources.map((source) => source.start(this.enqueue));
    try {
      await Promise.all(sources.map((source) => source.waitForSync(syncTimeoutMs, signal)));
      await Promise.all(Array.from({ length: maxConcurrent }, () => this.#work(signal)));
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      for (const stop of stops) stop();
      this.queue.shutDown();
    }
  }

  /** Aborts the reconciles in flight; the end of a graceful stop that took too long. */
  kill(): void {
    this.#kill.abort();
  }

  async #work(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const item = await this.queue.get(signal);
      if (item === undefined) return;
      try {
        // Taken at the moment of the stop: nothing is lost, the next leader lists everything.
        if (!signal.aborted) await this.#process(item);
      } finally {
        this.queue.done(item.key);
      }
    }
  }

  async #process(item: QueueItem): Promise<void> {
    const wait = this.#options.gate?.waitMs(item.key) ?? 0;
    if (wait > 0) {
      this.#metrics.stale();
      this.queue.addAfter(item.key, wait, { priority: item.priority });
      return;
    }
    const rest = this.#floor.waitMs(item.key);
    if (rest > 0) {
      this.queue.addAfter(item.key, rest, { priority: item.priority });
      return;
    }
    this.#floor.begins(item.key);
    const begin = this.#clock.monotonic();
    const elapsed = (): number => this.#clock.monotonic() - begin;
    this.#metrics.active(1);
    try {
      const outcome = await this.#reconcile(item);
      this.#settle(item, outcome, elapsed());
    } catch (error) {
      this.#fail(item, asError(error), elapsed());
    } finally {
      this.#metrics.active(-1);
    }
  }

  async #reconcile(item: QueueItem): Promise<Outcome> {
    const limit = deadline(this.#clock, this.#options.timeoutMs ?? 60_000, this.#kill.signal);
    const name = parseKey(item.key);
    const log = withFields(this.#log, { ...name });
    try {
      return await this.#options.reconcile(item.key, { name, signal: limit.signal, log, clock: this.#clock, priority: item.priority });
    } catch (error) {
      if (limit.expired()) this.#metrics.timeout();
      throw error;
    } finally {
      limit.dispose();
    }
  }

  #settle(item: QueueItem, outcome: Outcome, ms: number): void {
    this.queue.forget(item.key);
    if (outcome.kind === 'requeueAfter') {
      this.queue.addAfter(item.key, outcome.ms, { priority: item.priority });
      this.#metrics.finished('requeue_after', ms);
      return;
    }
    this.#metrics.finished('success', ms);
  }

  #fail(item: QueueItem, error: Error, ms: number): void {
    this.#metrics.error();
    this.#metrics.finished('error', ms);
    // What a language without panics throws by mistake: the same retry, but counted apart.
    if (isDefect(error)) this.#metrics.panic();
    if (error instanceof TerminalError) {
      this.#metrics.terminal();
      this.#log.error('reconcile failed for good', { key: item.key, error: error.stack ?? error.message });
      return;
    }
    const level = isFenced(error) ? 'info' : 'error';
    this.#log[level]('reconcile failed', { key: item.key, error: error.stack ?? error.message, retries: this.queue.retries(item.key) });
    this.queue.addRateLimited(item.key, { priority: item.priority });
  }
}

function isDefect(error: Error): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError || error.name === 'AssertionError';
}
