import type { ObjectKey } from '../api/resource.ts';
import { type Clock, systemClock, deadline, firstListMs } from '../runtime/clock.ts';
import { type Counter, Registry } from 'prom-client';
import { counter, gauge, histogram } from '../runtime/metrics.ts';
import { asError, isFenced } from '../runtime/errors.ts';
import { isApiError } from '../transport/apiError.ts';
import { silentLog, withFields, type Log } from '../runtime/log.ts';
import { WorkQueue, type QueueItem } from '../queue/queue.ts';
import type { Enqueue, Source } from './source.ts';

/**
 * The least time between the beginnings of two reconciles of one object: an object that is rewritten in a loop,
 * or that two controllers fight about, costs a bounded share of the workers (Cluster API, ReconcilerRateLimiting).
 */
export class ReconcileFloor {
  readonly #clock: Clock;
  readonly #floorMs: number;
  /** Monotonic ms, the oldest first; an object that is past its floor is not kept. */
  readonly #began = new Map<ObjectKey, number>();

  constructor(clock: Clock, floorMs: number) {
    this.#clock = clock;
    this.#floorMs = floorMs;
  }

  /** Ms to wait before this object may be reconciled, or 0. */
  waitMs(key: ObjectKey): number {
    const began = this.#began.get(key);
    return began === undefined ? 0 : Math.max(0, began + this.#floorMs - this.#clock.monotonic());
  }

  /** A reconcile begins now. */
  begins(key: ObjectKey): void {
    if (this.#floorMs <= 0) return;
    const now = this.#clock.monotonic();
    this.#began.delete(key);
    this.#began.set(key, now);
    for (const [old, began] of this.#began) {
      if (began + this.#floorMs > now) break;
      this.#began.delete(old);
    }
  }

  /** Objects that are remembered. */
  get size(): number {
    return this.#began.size;
  }
}

/** Result of a reconcile. Errors are thrown. */
export type Outcome =
  /** Nothing to do until something changes. */
  | { readonly kind: 'done' }
  /** Look again after this many ms, whatever happens before. */
  | { readonly kind: 'requeueAfter'; readonly ms: number };

export const done: Outcome = { kind: 'done' };

/** Looks again after `ms`. Throws a RangeError unless it is a positive number. */
export function requeueAfter(ms: number): Outcome {
  if (!(ms > 0)) throw new RangeError(`requeueAfter must be a positive number of ms: received ${ms}`);
  return { kind: 'requeueAfter', ms };
}

/** Of controller-runtime pkg/internal/controller/metrics/metrics.go. */
const timeBuckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5,
  5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];

export type ReconcileResult = 'success' | 'error' | 'requeue' | 'requeue_after';

function resultCounter(registry: Registry, controller: string): Counter<'controller' | 'result'> {
  const total = counter(registry, {
    name: 'controller_runtime_reconcile_total',
    help: 'Total number of reconciliations per controller',
    labelNames: ['controller', 'result'],
  });
  for (const result of ['success', 'error', 'requeue', 'requeue_after']) total.inc({ controller, result }, 0);
  return total;
}

function setMaxConcurrent(registry: Registry, controller: string, maxConcurrent: number): void {
  gauge(registry, {
    name: 'controller_runtime_max_concurrent_reconciles',
    help: 'Maximum number of concurrent reconciles per controller',
    labelNames: ['controller'],
  }).set({ controller }, maxConcurrent);
}

/** The controller_runtime_* metrics; all counters of this controller exist from the start, with 0. */
function reconcileMetrics(registry: Registry, controller: string, maxConcurrent: number) {
  const own = { controller };
  const plain = (name: string, help: string): (() => void) => {
    const made = counter(registry, { name, help, labelNames: ['controller'] });
    made.inc(own, 0);
    return () => made.inc(own);
  };
  const total = resultCounter(registry, controller);
  const time = histogram(registry, {
    name: 'controller_runtime_reconcile_time_seconds',
    help: 'Length of time per reconciliation per controller',
    labelNames: ['controller'],
    buckets: timeBuckets,
  });
  const active = gauge(registry, {
    name: 'controller_runtime_active_workers',
    help: 'Number of currently used workers per controller',
    labelNames: ['controller'],
  });
  active.set(own, 0);
  setMaxConcurrent(registry, controller, maxConcurrent);
  return {
    active: (change: 1 | -1) => active.inc(own, change),
    finished: (result: ReconcileResult, ms: number) => {
      total.inc({ controller, result });
      time.observe(own, ms / 1000);
    },
    error: plain('controller_runtime_reconcile_errors_total', 'Total number of reconciliation errors per controller'),
    panic: plain('controller_runtime_reconcile_panics_total', 'Total number of reconciliation panics per controller'),
    timeout: plain('controller_runtime_reconcile_timeouts_total', 'Total number of reconciliation timeouts per controller'),
    stale: plain('controller_runtime_reconcile_stale_cache_skips_total', 'Reconciliations put off until the cache has seen our own writes'),
  };
}

/** Inputs that one reconcile may use. */
export interface ReconcileContext {
  /** Aborted at the time limit and when the controller must end at once. */
  readonly signal: AbortSignal;
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
  /** Least time between the beginnings of two reconciles of one object, ms; default 0. What comes sooner waits. */
  readonly floorMs?: number;
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
  readonly #metrics: ReturnType<typeof reconcileMetrics>;
  readonly #floor: ReconcileFloor;
  readonly #kill = new AbortController();
  #started = false;

  constructor(options: ControllerOptions) {
    this.name = options.name;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#log = withFields(options.log ?? silentLog, { controller: options.name });
    const { name, registry = new Registry(), floorMs = 0, maxConcurrent = 1 } = options;
    this.#floor = new ReconcileFloor(this.#clock, floorMs);
    this.queue = new WorkQueue({ name, clock: this.#clock, registry });
    this.#metrics = reconcileMetrics(registry, name, maxConcurrent);
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
    const { sources, maxConcurrent = 1 } = this.#options;
    // Sources feed the queue before the caches are full: what comes early waits in the queue.
    const stops = sources.map((source) => source.start(this.enqueue));
    try {
      await Promise.all(sources.map((source) => source.waitForSync(firstListMs, signal)));
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
    using limit = deadline(this.#clock, this.#options.timeoutMs ?? 60_000, this.#kill.signal);
    try {
      return await this.#options.reconcile(item.key, { signal: limit.signal });
    } catch (error) {
      if (limit.expired()) this.#metrics.timeout();
      throw error;
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
    // Errors that a language without panics throws by mistake: the same retry, but counted apart.
    if (isDefect(error)) this.#metrics.panic();
    // Somebody else wrote first: the next try reads what is there now. One that goes on is a fault.
    const raced = isApiError(error) && error.code === 409 && this.queue.retries(item.key) < 5;
    const level = isFenced(error) || raced ? 'info' : 'error';
    this.#log[level]('reconcile failed', {
      ...(level === 'error' && { code: 'AF_RECONCILE_FAILED' }),
      key: item.key,
      error: raced ? error.message : (error.stack ?? error.message),
      retries: this.queue.retries(item.key),
    });
    this.queue.addRateLimited(item.key, { priority: item.priority });
  }
}

function isDefect(error: Error): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError || error.name === 'AssertionError';
}
