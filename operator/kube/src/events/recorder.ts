import { defineResource, type KubeObject } from '../api/resource.ts';
import { type Clock, microTimestamp, sleep, type Random } from '../runtime/clock.ts';
import type { ResourceClient } from '../client/client.ts';
import { asError, isKubeError } from '../runtime/errors.ts';
import type { Log } from '../runtime/log.ts';
import { isApiError, isNotFound } from '../transport/apiError.ts';

export interface ObjectReference {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** `events.k8s.io/v1` Event; what an old recorder leaves out is absent, such as the time of those of kubelets. */
export interface KubeEvent extends KubeObject {
  readonly eventTime?: string | null;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly action?: string;
  readonly note?: string;
  readonly regarding: ObjectReference;
  readonly reportingController?: string;
  readonly reportingInstance?: string;
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
}

export const events = defineResource<KubeEvent>('events.k8s.io/v1', 'Event', 'events');

/** An event to report; emitted on transitions only, never at every reconcile. */
export interface NewEvent {
  readonly type: 'Normal' | 'Warning';
  /** CamelCase, at most 128 bytes. */
  readonly reason: string;
  /** Act that was done or tried, at most 128 bytes. */
  readonly action: string;
  /** At most 1024 bytes; cut when longer. */
  readonly note: string;
}

function referenceTo(object: KubeObject): ObjectReference {
  const { name, namespace, uid, resourceVersion } = object.metadata;
  const { apiVersion, kind } = object;
  return { apiVersion, kind, name, namespace, uid, resourceVersion } as ObjectReference;
}

/** Cuts to a number of UTF-8 bytes without splitting a character. */
export function cutBytes(text: string, most: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return text;
  let end = most;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end).toString();
}

interface Bucket {
  tokens: number;
  /** Monotonic ms. */
  last: number;
}

/** Of client-go tools/record/events_cache.go: objects that are known, and ms after which one may have another event. */
const mostGuarded = 4096;
const refillMs = 300_000;

/** Events of one object: a burst of 25, then one in 300 s. */
export class SpamGuard {
  readonly #clock: Clock;
  readonly #burst: number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock, burst = 25) {
    this.#clock = clock;
    this.#burst = burst;
  }

  /** False when this object has used its share up. */
  allow(key: string): boolean {
    const now = this.#clock.monotonic();
    const known = this.#buckets.get(key);
    const tokens = known === undefined ? this.#burst : Math.min(this.#burst, known.tokens + (now - known.last) / refillMs);
    const allowed = tokens >= 1;
    // Set again, so that the Map's order is that of the last use.
    this.#buckets.delete(key);
    this.#buckets.set(key, { tokens: allowed ? tokens - 1 : tokens, last: now });
    if (this.#buckets.size > mostGuarded) this.#buckets.delete(this.#buckets.keys().next().value ?? key);
    return allowed;
  }
}

export interface RecorderOptions {
  readonly client: ResourceClient<KubeEvent>;
  /** `example.com/controller`. */
  readonly reportingController: string;
  /** The pod's name. */
  readonly reportingInstance: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Of client-go tools/events/event_broadcaster.go. */
const refreshMs = 30 * 60_000;
const finishMs = 6 * 60_000;
const mostQueued = 1000;
/** Series that are remembered: as many as client-go's cache. The one that was silent for longest ends early. */
const mostSeries = 4096;
const mostTries = 12;
const retryMs = 10_000;

interface Series {
  event: KubeEvent;
  /** Monotonic ms of the last occurrence and of the last write. */
  seenAt: number;
  writtenAt: number;
  /** The count last written. */
  written: number;
}

/** An event that is to be written. */
interface Queued {
  readonly key: string;
  readonly event: KubeEvent;
  /** Monotonic ms before which it is not written: it was refused once. `-Infinity`: it was not tried yet. */
  readonly dueAt: number;
  /** Number of failures of another kind. */
  readonly failures: number;
}

const namespaceOf = ({ event }: Queued): string => event.metadata.namespace ?? '';

/**
 * Events about objects. Equal ones become a series: the first is created, the second makes it a series, more are
 * counted here and written every 30 minutes and at the end of the series. Recording never blocks and never throws.
 */
export class EventRecorder {
  readonly #options: RecorderOptions;
  readonly #guard: SpamGuard;
  readonly #series = new Map<string, Series>();
  readonly #queue: Queued[] = [];
  /** Monotonic ms until which a namespace waits, because its last event failed. */
  readonly #paused = new Map<string, number>();
  #wake: (() => void) | undefined;
  #names = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#guard = new SpamGuard(options.clock);
  }

  /** Events that wait to be written. */
  get pending(): number {
    return this.#queue.length;
  }

  /** Series that are remembered. */
  get series(): number {
    return this.#series.size;
  }

  record(regarding: KubeObject, what: NewEvent): void {
    const { clock } = this.#options;
    const event = this.#make(regarding, what);
    const key = seriesKey(event);
    const known = this.#series.get(key);
    if (known !== undefined) {
      this.#again(key, known);
      return;
    }
    if (!this.#guard.allow(regarding.metadata.uid ?? regarding.metadata.name)) return;
    this.#makeRoom();
    this.#series.set(key, { event, seenAt: clock.monotonic(), writtenAt: clock.monotonic(), written: 1 });
    this.#enqueue(key, event);
  }

  /** Writes until the signal is aborted, then what is queued, each once. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = (): void => this.#wake?.();
    signal.addEventListener('abort', stop, { once: true });
    const { clock } = this.#options;
    let tickAt = clock.monotonic() + finishMs;
    while (!signal.aborted) {
      const next = this.#due();
      if (next !== undefined) await this.#write(next, signal);
      else await this.#idle(Math.min(tickAt, ...this.#queue.map((queued) => this.#dueAt(queued))) - clock.monotonic(), signal);
      if (clock.monotonic() < tickAt) continue;
      tickAt = clock.monotonic() + finishMs;
      this.tick();
    }
    for (const queued of this.#queue.splice(0)) await this.#write(queued, signal);
  }

  /** Ends and refreshes series; `run` calls it every six minutes. */
  tick(): void {
    const now = this.#options.clock.monotonic();
    for (const [key, series] of this.#series) {
      const ended = now - series.seenAt >= finishMs;
      const count = series.event.series?.count ?? 1;
      const unwritten = count > series.written;
      if (unwritten && (ended || now - series.writtenAt >= refreshMs)) {
        series.writtenAt = now;
        series.written = count;
        this.#enqueue(key, series.event);
      }
      if (ended) this.#series.delete(key);
    }
  }

  #again(key: string, series: Series): void {
    const { clock } = this.#options;
    const count = (series.event.series?.count ?? 1) + 1;
    series.event = { ...series.event, series: { count, lastObservedTime: microTimestamp(clock.now()) } };
    series.seenAt = clock.monotonic();
    // Set again, so that the Map's order is that of the last occurrence.
    this.#series.delete(key);
    this.#series.set(key, series);
    if (count > 2) return;
    series.writtenAt = series.seenAt;
    series.written = count;
    this.#enqueue(key, series.event);
  }

  #makeRoom(): void {
    if (this.#series.size < mostSeries) return;
    const [oldest] = this.#series;
    if (oldest === undefined) return;
    const [key, series] = oldest;
    this.#series.delete(key);
    if ((series.event.series?.count ?? 1) > series.written) this.#enqueue(key, series.event);
  }

  /** Takes the first event that may be written now. */
  #due(): Queued | undefined {
    const now = this.#options.clock.monotonic();
    const at = this.#queue.findIndex((queued) => this.#dueAt(queued) <= now);
    return at === -1 ? undefined : this.#queue.splice(at, 1)[0];
  }

  #dueAt(queued: Queued): number {
    return Math.max(queued.dueAt, this.#paused.get(namespaceOf(queued)) ?? -Infinity);
  }

  #enqueue(key: string, event: KubeEvent): void {
    this.#queue.push({ key, event, dueAt: -Infinity, failures: 0 });
    this.#hold();
  }

  #hold(): void {
    if (this.#queue.length > mostQueued) this.#dropOne();
    this.#wake?.();
  }

  /** The namespace that fills the queue loses its newest event: what is refused in one displaces none of another. */
  #dropOne(): void {
    const held = new Map<string, number>();
    const heldBy = (queued: Queued): number => held.get(namespaceOf(queued)) ?? 0;
    for (const queued of this.#queue) held.set(namespaceOf(queued), heldBy(queued) + 1);
    const most = Math.max(...held.values());
    const at = this.#queue.findLastIndex((queued) => heldBy(queued) === most);
    for (const { event } of this.#queue.splice(at, 1))
      this.#options.log.warn('event dropped: the queue is full', { reason: event.reason, namespace: event.metadata.namespace ?? '' });
  }

  /** Until an event comes, the signal is aborted or the time has passed. */
  async #idle(ms: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    if (!signal.aborted) await sleep(this.#options.clock, ms, woken.signal);
    this.#wake = undefined;
  }

  async #write(queued: Queued, signal: AbortSignal): Promise<void> {
    const { key, event, dueAt, failures } = queued;
    const { clock, random, log } = this.#options;
    const waitMs = retryMs * (0.75 + random() * 0.5);
    this.#paused.delete(namespaceOf(queued));
    try {
      await this.#send(event);
    } catch (error) {
      const answered = isApiError(error);
      // One namespace has too many (admission plugin EventRateLimit). Once more is enough.
      const limited = answered && error.code === 429;
      const spent = limited ? dueAt !== -Infinity : failures + 1 >= mostTries;
      // The server will not take it later either; a 5xx, 429 or a lost connection may pass.
      if (spent || signal.aborted || (answered && !error.retryable)) {
        log.warn('event not written', { reason: event.reason, key, error: asError(error).message });
        return;
      }
      if (limited) this.#queue.push({ ...queued, dueAt: clock.monotonic() + waitMs });
      else this.#queue.unshift({ ...queued, failures: failures + 1 });
      this.#hold();
      if (limited) return;
      // A webhook may fail for one namespace, or not answer: events of others do not wait for it. No connection is the same for all.
      if (answered || isKubeError(error, 'AF_API_TIMEOUT')) this.#paused.set(namespaceOf(queued), clock.monotonic() + waitMs);
      else await sleep(clock, waitMs, signal);
    }
  }

  async #send(event: KubeEvent): Promise<void> {
    const { client } = this.#options;
    if (event.series === undefined) {
      await client.create(event, { timeoutMs: 10_000 });
      return;
    }
    try {
      await client.patch(event.metadata, { series: event.series }, { timeoutMs: 10_000 });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await client.create(event, { timeoutMs: 10_000 });
    }
  }

  #make(regarding: KubeObject, what: NewEvent): KubeEvent {
    const { clock, reportingController, reportingInstance } = this.#options;
    const { name, namespace = 'default' } = regarding.metadata;
    this.#names += 1;
    const unique = `${Math.floor(clock.now()).toString(16)}${this.#names.toString(16).padStart(4, '0')}`;
    return {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: eventName(name, unique), namespace },
      eventTime: microTimestamp(clock.now()),
      type: what.type,
      reason: cutBytes(what.reason, 128),
      action: cutBytes(what.action, 128),
      note: cutBytes(what.note, 1024),
      regarding: referenceTo(regarding),
      reportingController,
      reportingInstance,
    };
  }
}

/** A name that the server takes: objects of some kinds have names that events may not have, and a cut may end in a dash. */
function eventName(of: string, unique: string): string {
  const stem = of.slice(0, 200).replace(/[^a-z0-9]+$/, '');
  return /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(stem) ? `${stem}.${unique}` : `event.${unique}`;
}

function seriesKey(event: KubeEvent): string {
  const { type, action, reason, reportingController, reportingInstance, regarding } = event;
  const { kind, namespace, name, uid } = regarding;
  return JSON.stringify([type, action, reason, reportingController, reportingInstance, kind, namespace, name, uid]);
}
