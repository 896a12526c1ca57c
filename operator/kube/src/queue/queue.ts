import { Registry } from 'prom-client';
import type { Clock, Timer } from '../runtime/clock.ts';
import { counter, gauge, histogram } from '../runtime/metrics.ts';

/** 10e-9·10ᵏ seconds, k = 0…11 (controller-runtime pkg/internal/metrics/workqueue.go). */
const buckets = Array.from({ length: 12 }, (_, k) => 10e-9 * 10 ** k);

const labels = ['name', 'controller'] as const;

/** Two gauges whose values are ages; they are computed at each scrape. */
function ageGauges(registry: Registry, name: string, clock: Clock, processing: () => Iterable<number>): void {
  const ages = (): number[] => [...processing()].map((begin) => (clock.monotonic() - begin) / 1000);
  const collectors: readonly (readonly [string, string, (ages: number[]) => number])[] = [
    [
      'workqueue_unfinished_work_seconds',
      'Seconds of work that is in progress and has not been observed by work_duration. Large values indicate stuck workers.',
      (all) => all.reduce((sum, age) => sum + age, 0),
    ],
    [
      'workqueue_longest_running_processor_seconds',
      'Seconds that the longest running worker has been running.',
      (all) => all.reduce((most, age) => Math.max(most, age), 0),
    ],
  ];
  for (const [metric, help, fold] of collectors) {
    const made = gauge(registry, { name: metric, help, labelNames: [...labels] });
    const collectable = made as unknown as { collect?: () => void };
    const others = collectable.collect;
    collectable.collect = (): void => {
      others?.call(made);
      made.set({ name, controller: name }, fold(ages()));
    };
  }
}

/** The workqueue_* metrics under the names of client-go and controller-runtime; `name` is the controller's. */
function queueMetrics(registry: Registry, name: string, clock: Clock, processing: () => Iterable<number>) {
  const own = { name, controller: name };
  const labelNames = [...labels];
  const depth = gauge(registry, {
    name: 'workqueue_depth',
    help: 'Current depth of workqueue by workqueue and priority',
    labelNames: [...labels, 'priority'],
  });
  const adds = counter(registry, { name: 'workqueue_adds_total', help: 'Total number of adds handled by workqueue', labelNames });
  const retries = counter(registry, { name: 'workqueue_retries_total', help: 'Total number of retries handled by workqueue', labelNames });
  const waited = histogram(registry, {
    name: 'workqueue_queue_duration_seconds',
    help: 'How long in seconds an item stays in workqueue before being requested',
    labelNames,
    buckets,
  });
  const worked = histogram(registry, {
    name: 'workqueue_work_duration_seconds',
    help: 'How long in seconds processing an item from workqueue takes.',
    labelNames,
    buckets,
  });
  adds.inc(own, 0);
  retries.inc(own, 0);
  depth.set({ ...own, priority: 0 }, 0);
  ageGauges(registry, name, clock, processing);
  return {
    added: () => adds.inc(own),
    retried: () => retries.inc(own),
    depth: (priority: number, change: 1 | -1) => depth.inc({ ...own, priority }, change),
    waited: (ms: number) => waited.observe(own, ms / 1000),
    worked: (ms: number) => worked.observe(own, ms / 1000),
  };
}

/** A binary heap; `before(a, b)` is true when `a` must come out first. */
class Heap<T> {
  readonly #before: (a: T, b: T) => boolean;
  readonly #items: T[] = [];

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    const items = this.#items;
    let at = items.length;
    items.push(item);
    while (at > 0) {
      const up = (at - 1) >> 1;
      const parent = items[up] as T;
      if (!this.#before(item, parent)) break;
      items[at] = parent;
      at = up;
    }
    items[at] = item;
  }

  pop(): T | undefined {
    const items = this.#items;
    const top = items[0];
    const last = items.pop();
    if (items.length > 0) this.#sink(last as T);
    return top;
  }

  /** Drops all others. */
  keep(wanted: (item: T) => boolean): void {
    const kept = this.#items.filter(wanted).sort((a, b) => (this.#before(a, b) ? -1 : 1));
    // A sorted list is a heap.
    this.#items.splice(0);
    for (const item of kept) this.#items.push(item);
  }

  #sink(item: T): void {
    const items = this.#items;
    const { length } = items;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= length) break;
      if (child + 1 < length && this.#before(items[child + 1] as T, items[child] as T)) child += 1;
      if (!this.#before(items[child] as T, item)) break;
      items[at] = items[child] as T;
      at = child;
    }
    items[at] = item;
  }
}

/** Entries that lost their place stay in a heap until there are this many more of them than of the others. */
const mostDead = 1024;

/** For objects of the first list: what users change overtakes the backlog of a restart. */
export const lowPriority = -100;

/** Waits of a key that fails: the first·2ⁿ up to the longest (client-go's ItemExponentialFailureRateLimiter). */
const failureMs = { first: 5, longest: 1_000_000 } as const;

interface AddOptions {
  /** Higher comes first; default 0. */
  readonly priority?: number;
}

export interface QueueItem {
  readonly key: string;
  readonly priority: number;
}

export interface QueueOptions {
  /** The controller's name, a metric label. */
  readonly name: string;
  readonly clock: Clock;
  readonly registry?: Registry | undefined;
}

interface Entry {
  readonly key: string;
  readonly priority: number;
  /** Order of arrival among equals. */
  readonly order: number;
  /** Monotonic ms: when it may come out (waiting), or since when it could (ready). */
  readonly at: number;
  /** False when a newer entry took its place; heaps drop it when it comes up. */
  live: boolean;
}

/**
 * Keys to work on: client-go's work queue (util/workqueue/queue.go) with the priorities of controller-runtime's
 * (pkg/controller/priorityqueue). A key is in it at most once; a key that is being worked on comes out again only
 * after `done`; no `add` is lost; adding again keeps the higher priority and the earlier time.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #metrics: ReturnType<typeof queueMetrics>;
  readonly #ready = new Heap<Entry>((a, b) => (a.priority === b.priority ? a.order < b.order : a.priority > b.priority));
  readonly #waiting = new Heap<Entry>((a, b) => (a.at === b.at ? a.order < b.order : a.at < b.at));
  /** Entries that are ready, or dirty while they are worked on. */
  readonly #dirty = new Map<string, Entry>();
  readonly #delayed = new Map<string, Entry>();
  /** Since when, monotonic ms. */
  readonly #processing = new Map<string, number>();
  /** Failures in a row by key. */
  readonly #failures = new Map<string, number>();
  #takers: ((item: QueueItem | undefined) => void)[] = [];
  #timer: Timer | undefined;
  #timerAt = Infinity;
  #order = 0;
  #readyCount = 0;
  #shutDown = false;

  constructor(options: QueueOptions) {
    this.#clock = options.clock;
    const { registry = new Registry(), name, clock } = options;
    this.#metrics = queueMetrics(registry, name, clock, () => this.#processing.values());
  }

  /** Keys that could be taken now. */
  get depth(): number {
    return this.#readyCount;
  }

  /** Entries in memory, also those that lost their place. */
  get held(): number {
    return this.#ready.size + this.#waiting.size;
  }

  get processing(): number {
    return this.#processing.size;
  }

  /** Puts the key in now, also when it was waiting. */
  add(key: string, options: AddOptions = {}): void {
    if (this.#shutDown) return;
    const waiting = this.#delayed.get(key);
    const priority = Math.max(options.priority ?? 0, waiting?.priority ?? -Infinity);
    if (waiting) this.#drop(this.#delayed, waiting);
    this.#markDirty(key, priority, true);
  }

  /** Puts the key in after `ms`; a shorter wait or an entry that is ready stays as it is. */
  addAfter(key: string, ms: number, options: AddOptions = {}): void {
    if (this.#shutDown) return;
    this.#metrics.retried();
    if (ms <= 0) {
      this.add(key, options);
      return;
    }
    const priority = options.priority ?? 0;
    if (this.#dirty.has(key)) {
      this.#markDirty(key, priority, false);
      return;
    }
    const waiting = this.#delayed.get(key);
    const at = Math.min(this.#clock.monotonic() + ms, waiting?.at ?? Infinity);
    if (waiting && waiting.at === at && waiting.priority >= priority) return;
    if (waiting) waiting.live = false;
    const entry = { key, priority: Math.max(priority, waiting?.priority ?? -Infinity), order: this.#next(), at, live: true };
    this.#delayed.set(key, entry);
    this.#waiting.push(entry);
    sweep(this.#waiting, this.#delayed.size);
    this.#arm();
  }

  /** Puts the key in after the wait that its failures have earned; this is one more of them. */
  addRateLimited(key: string, options: AddOptions = {}): void {
    if (this.#shutDown) return;
    const before = this.retries(key);
    this.#failures.set(key, before + 1);
    this.addAfter(key, Math.min(failureMs.longest, failureMs.first * 2 ** Math.min(before, 1000)), options);
  }

  /** The key is well: its next failure starts with the shortest wait. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Its failures since the last `forget`. */
  retries(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** The next key; waits for one. Undefined when the queue shut down and is empty, or the signal was aborted. `done` must follow. */
  get(signal?: AbortSignal): Promise<QueueItem | undefined> {
    if (signal?.aborted) return Promise.resolve(undefined);
    const item = this.#take();
    if (item !== undefined || this.#shutDown) return Promise.resolve(item);
    return new Promise((resolve) => {
      const taker = (item: QueueItem | undefined): void => {
        signal?.removeEventListener('abort', abort);
        resolve(item);
      };
      const abort = (): void => {
        this.#takers = this.#takers.filter((other) => other !== taker);
        resolve(undefined);
      };
      this.#takers.push(taker);
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  /** The work on the key ended; when it was added meanwhile it comes out again. */
  done(key: string): void {
    const begin = this.#processing.get(key);
    if (begin === undefined) return;
    this.#processing.delete(key);
    this.#metrics.worked(this.#clock.monotonic() - begin);
    const again = this.#dirty.get(key);
    if (again) this.#pushReady(again);
    if (this.#shutDown && this.#processing.size === 0) this.shutDown();
  }

  /** Takes no more keys; what is ready still comes out, what waits is dropped. */
  shutDown(): void {
    this.#shutDown = true;
    this.#timer?.cancel();
    this.#delayed.clear();
    if (this.#readyCount > 0) return;
    const takers = this.#takers;
    this.#takers = [];
    for (const taker of takers) taker(undefined);
  }

  #next(): number {
    return (this.#order += 1);
  }

  #markDirty(key: string, priority: number, counts: boolean): void {
    const known = this.#dirty.get(key);
    if (known && known.priority >= priority) return;
    const entry: Entry = { key, priority, order: this.#next(), at: this.#clock.monotonic(), live: true };
    const busy = this.#processing.has(key);
    if (known) {
      known.live = false;
      if (!busy) this.#count(known, -1);
    } else if (counts) this.#metrics.added();
    this.#dirty.set(key, entry);
    if (!busy) this.#pushReady(entry);
  }

  #count(entry: Entry, change: 1 | -1): void {
    this.#readyCount += change;
    this.#metrics.depth(entry.priority, change);
  }

  #pushReady(entry: Entry): void {
    this.#ready.push(entry);
    this.#count(entry, 1);
    sweep(this.#ready, this.#readyCount);
    const taker = this.#takers.shift();
    if (taker) taker(this.#take());
  }

  #take(): QueueItem | undefined {
    for (let entry = this.#ready.pop(); entry !== undefined; entry = this.#ready.pop()) {
      if (!entry.live) continue;
      const now = this.#clock.monotonic();
      this.#count(entry, -1);
      this.#dirty.delete(entry.key);
      this.#processing.set(entry.key, now);
      this.#metrics.waited(now - entry.at);
      return { key: entry.key, priority: entry.priority };
    }
    return undefined;
  }

  #drop(from: Map<string, Entry>, entry: Entry): void {
    entry.live = false;
    from.delete(entry.key);
  }

  #arm(): void {
    while (this.#waiting.peek()?.live === false) this.#waiting.pop();
    const at = this.#waiting.peek()?.at ?? Infinity;
    if (at === this.#timerAt) return;
    this.#timer?.cancel();
    this.#timerAt = at;
    this.#timer = at === Infinity ? undefined : this.#clock.after(at - this.#clock.monotonic(), () => this.#release());
  }

  /** Moves what is due to the ready ones, in the order of their times. */
  #release(): void {
    this.#timerAt = Infinity;
    const now = this.#clock.monotonic();
    for (let entry = this.#waiting.peek(); entry !== undefined && (!entry.live || entry.at <= now); entry = this.#waiting.peek()) {
      this.#waiting.pop();
      if (!entry.live) continue;
      this.#drop(this.#delayed, entry);
      this.#markDirty(entry.key, entry.priority, true);
    }
    if (!this.#shutDown) this.#arm();
  }
}

/** A heap cannot drop from its middle at once: without this, keys that are put off for hours again and again would fill it. */
function sweep(heap: Heap<Entry>, live: number): void {
  if (heap.size > 2 * live + mostDead) heap.keep((entry) => entry.live);
}
