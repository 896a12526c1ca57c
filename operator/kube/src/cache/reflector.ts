import { keyOf, type KubeObject, type Resource, resourceName } from '../api/resource.ts';
import { type WatchEvent, watch, type WatchEnd } from '../watch/watch.ts';
import { Backoff, reconnectBackoff, reflectorBackoff, type BackoffOptions, type Random, sleep, type Clock } from '../runtime/clock.ts';
import { isKubeError, asError, KubeError } from '../runtime/errors.ts';
import { isApiError, isGone, isNotFound, isVersionTooLarge } from '../transport/apiError.ts';
import type { Transport } from '../transport/types.ts';
import { ResourceClient } from '../client/client.ts';
import type { Log } from '../runtime/log.ts';

/** Of the bookmark that ends the streamed list (KEP-3157). */
const endAnnotation = 'k8s.io/initial-events-end';

/** Gathers the objects of a streamed list until the bookmark that ends it. */
class InitialEvents<T extends KubeObject> {
  #objects: Map<string, T> | undefined = new Map<string, T>();

  get complete(): boolean {
    return this.#objects === undefined;
  }

  /** True when this event ended the list. */
  take({ type, object }: WatchEvent<T>): boolean {
    if (type === 'BOOKMARK') return object.metadata.annotations?.[endAnnotation] === 'true';
    if (type === 'DELETED') this.#objects?.delete(keyOf(object));
    else this.#objects?.set(keyOf(object), object);
    return false;
  }

  /** The list; lets go of it, because the stream lives on for minutes. */
  objects(): readonly T[] {
    const all = [...(this.#objects?.values() ?? [])];
    this.#objects = undefined;
    return all;
  }
}

/** A watch that lived this long was healthy: what failed before it is forgotten. */
const healthyMs = 2000;

/** The server may ask to stay away for longer than we would; not for ever. */
const longestRetryAfterMs = 60_000;

export interface RecoveryOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  /** In place of all of the three. */
  readonly backoff?: BackoffOptions;
}

/** Reports whether after this failure only a new list can be trusted: the version is gone, or the data that came was damaged. */
function needsList(error: unknown): boolean {
  // A resource that is not served lost its objects with its definition; when it is back, it is another one.
  return isGone(error) || isVersionTooLarge(error) || isNotFound(error) || isKubeError(error, 'AF_API_MALFORMED');
}

/**
 * Wait of a reflector after a failure. Three counts, because three things fail apart: the way to the server (wait together until it
 * answers, then soon), the server's answer (client-go's rule, and not before the time that the answer names), and the data (client-go's
 * rule, and only two quiet minutes reset it, since each try costs a whole list). One healthy watch resets the first two, so that an API
 * server that dies every few minutes is followed as soon the tenth time as the first.
 */
class Recovery {
  readonly #options: RecoveryOptions;
  readonly #reconnect: Backoff;
  readonly #refused: Backoff;
  readonly #relist: Backoff;
  #openedAt: number | undefined;

  constructor(options: RecoveryOptions) {
    this.#options = options;
    const { clock, random, backoff } = options;
    this.#reconnect = new Backoff(backoff ?? reconnectBackoff, clock, random);
    this.#refused = new Backoff(backoff ?? reflectorBackoff, clock, random);
    this.#relist = new Backoff(backoff ?? reflectorBackoff, clock, random);
  }

  /** The server shows the present state and its changes from now on. */
  opened(): void {
    this.#openedAt = this.#options.clock.monotonic();
  }

  /** The watch ended, well or not. */
  closed(): void {
    if (this.#openedAt !== undefined && this.#options.clock.monotonic() - this.#openedAt >= healthyMs) {
      this.#reconnect.reset();
      this.#refused.reset();
    }
    this.#openedAt = undefined;
  }

  /** Waits as this failure demands; without an error after a watch that ended too soon. */
  async wait(error: unknown, signal: AbortSignal): Promise<void> {
    const { transport, clock } = this.#options;
    const broken = isKubeError(error, 'AF_API_UNREACHABLE');
    if (broken || isKubeError(error, 'AF_API_TIMEOUT')) await transport.reachability?.answered(signal);
    const asked = isApiError(error) ? Math.min(longestRetryAfterMs, error.retryAfterMs ?? 0) : 0;
    const backoff = broken ? this.#reconnect : needsList(error) ? this.#relist : this.#refused;
    await sleep(clock, Math.max(asked, backoff.next()), signal);
  }
}

/** Follower of a resource. Called in the order of the server, never from two places at once. */
export interface ReflectorTarget<T> {
  /** The whole state at a version. Nothing else is called until the promise, if there is one, is kept. */
  replace(objects: readonly T[], version: string): void | Promise<void>;
  apply(event: WatchEvent<T>): void;
  /** Nothing changed up to this version. */
  progress(version: string): void;
}

export interface ReflectorOptions<T extends KubeObject> {
  readonly transport: Transport;
  readonly resource: Resource<T>;
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Objects of one page of a list; default 500. */
  readonly pageSize?: number;
  /** Default 90 s. Less than the minute between bookmarks is for what changes more often: a collection at rest is listed again each time. */
  readonly stallMs?: number;
  /** A watch lives for 1 to 2 times this; default 300 s. */
  readonly watchSeconds?: number;
  /** False: never stream the first list. Default: try it, and list when the server refuses. */
  readonly watchList?: boolean;
  /** In place of the waits after each kind of failure (`Recovery`). */
  readonly backoff?: BackoffOptions;
  /** Makes objects smaller before anything else sees them; managedFields are dropped in any case. */
  readonly transform?: (object: T) => T;
}

export type ReflectorState = 'idle' | 'listing' | 'watching' | 'backoff' | 'stopped';

/**
 * Keeps a target equal to a collection on the server: list, then watch, for ever, through every kind of failure
 * (client-go tools/cache/reflector.go). Its first list is consistent, never from a cache that lags (KEP-2340).
 */
export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #target: ReflectorTarget<T>;
  readonly #client: ResourceClient<T>;
  readonly #recovery: Recovery;
  #version: string | undefined;
  #watchList: boolean;
  #unfinished = 0;
  #untransformed = false;
  #state: ReflectorState = 'idle';
  /** Error of the last try, undefined while all is well. */
  lastError: Error | undefined;

  constructor(options: ReflectorOptions<T>, target: ReflectorTarget<T>) {
    this.#options = options;
    this.#target = target;
    this.#client = new ResourceClient(options.transport, options.resource);
    this.#recovery = new Recovery(options);
    this.#watchList = options.watchList ?? true;
  }

  get state(): ReflectorState {
    return this.#state;
  }

  /** Runs until the signal is aborted; never rejects. A second call is a mistake and throws. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#state !== 'idle') throw new Error(`the reflector of ${resourceName(this.#options.resource)} runs already`);
    while (!signal.aborted) {
      try {
        await this.#cycle(signal);
      } catch (error) {
        if (signal.aborted) break;
        this.#classify(error);
        await this.#pause(error, signal);
      }
    }
    this.#state = 'stopped';
  }

  async #cycle(signal: AbortSignal): Promise<void> {
    if (this.#version === undefined) {
      this.#state = 'listing';
      if (!this.#watchList) await this.#list(signal);
    }
    if (signal.aborted) return;
    const begin = this.#options.clock.monotonic();
    let events = 0;
    const streamed = this.#version === undefined;
    const end = await this.#watch(signal, () => (events += 1)).finally(() => this.#recovery.closed());
    if (streamed && this.#version === undefined) this.#unfinishedList(signal);
    // A server that accepts and closes at once would otherwise be asked in a tight loop.
    const lasted = this.#options.clock.monotonic() - begin;
    const short = lasted < 1000 && events === 0;
    // Bookmarks come each minute: silence means that the server waits for a version it will not reach, because its
    // storage was restored from a backup.
    const silent = events === 0 && (end === 'stalled' || (end === 'closed' && lasted > 75_000));
    if (silent) this.#version = undefined;
    if (end === 'closed' && short) await this.#pause(undefined, signal);
  }

  /** A server without streamed lists never reports that one is complete. */
  #unfinishedList(signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#unfinished += 1;
    if (this.#unfinished >= 2) this.#watchList = false;
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { namespace, labelSelector, fieldSelector, pageSize = 500 } = this.#options;
    const objects: T[] = [];
    let version = '';
    for await (const page of this.#client.pages({ namespace, labelSelector, fieldSelector, limit: pageSize, signal })) {
      for (const item of page.items) objects.push(this.#slim(item));
      version = page.resourceVersion;
    }
    if (signal.aborted) return;
    await this.#replace(objects, version);
  }

  async #replace(objects: readonly T[], version: string): Promise<void> {
    if (version === '') {
      const where = `LIST ${resourceName(this.#options.resource)}`;
      throw new KubeError('AF_API_MALFORMED', { what: 'a list has no version', where, cure: 'Nothing to do: it is listed again' });
    }
    this.#unfinished = 0;
    await this.#target.replace(objects, version);
    this.#version = version;
    this.lastError = undefined;
  }

  async #watch(signal: AbortSignal, onEvent: () => void): Promise<WatchEnd> {
    const {
      transport,
      resource,
      namespace,
      labelSelector,
      fieldSelector,
      clock,
      random,
      watchSeconds = 300,
      stallMs = 90_000,
    } = this.#options;
    const initial = this.#version === undefined ? new InitialEvents<T>() : undefined;
    return watch<T>(
      {
        transport,
        resource,
        namespace,
        labelSelector,
        fieldSelector,
        ...(this.#version === undefined ? { sendInitialEvents: true } : { resourceVersion: this.#version }),
        timeoutSeconds: Math.round(watchSeconds * (1 + random())),
        stallMs,
        clock,
        signal,
        onOpen: () => {
          if (initial === undefined) this.#opened();
        },
      },
      (event) => {
        onEvent();
        return this.#take(event, initial);
      },
    );
  }

  #take(event: WatchEvent<T>, initial: InitialEvents<T> | undefined): Promise<void> | undefined {
    if (initial !== undefined && !initial.complete) {
      const object = event.type === 'BOOKMARK' ? event.object : this.#slim(event.object);
      if (!initial.take({ type: event.type, object })) return undefined;
      return this.#replace(initial.objects(), event.object.metadata.resourceVersion ?? '').then(() => this.#opened());
    }
    const version = event.object.metadata.resourceVersion;
    if (event.type === 'BOOKMARK') this.#target.progress(version ?? '');
    else this.#target.apply({ type: event.type, object: this.#slim(event.object) });
    if (version !== undefined) this.#version = version;
    this.lastError = undefined;
    return undefined;
  }

  #opened(): void {
    this.#state = 'watching';
    this.#recovery.opened();
    this.lastError = undefined;
  }

  /** Assigning undefined keeps the object's fast shape; `delete` would cost a sixth more memory. */
  #slim(object: T): T {
    if (object.metadata.managedFields !== undefined) (object.metadata as { managedFields?: unknown }).managedFields = undefined;
    try {
      return this.#options.transform === undefined ? object : this.#options.transform(object);
    } catch (error) {
      // An object that the transform cannot read is kept whole: it costs memory, while leaving it out would hide an object.
      const { log, resource } = this.#options;
      if (!this.#untransformed)
        log.error('transform failed', { code: 'AF_CACHE_TRANSFORM', resource: resourceName(resource), error: asError(error).message });
      this.#untransformed = true;
      return object;
    }
  }

  #classify(error: unknown): void {
    const { log, resource } = this.#options;
    const listing = this.#version === undefined;
    // A resource that the server does not serve is asked for again and again, and reported once.
    const known = isNotFound(error) && isNotFound(this.lastError);
    this.lastError = asError(error);
    if (listing && this.#watchList && isApiError(error) && (error.code === 400 || error.code === 422)) {
      this.#watchList = false; // the server does not stream lists
      return;
    }
    if (needsList(error)) this.#version = undefined;
    log[known ? 'debug' : 'warn'](listing ? 'list failed' : 'watch failed', {
      resource: resourceName(resource),
      error: this.lastError.message,
    });
  }

  async #pause(error: unknown, signal: AbortSignal): Promise<void> {
    this.#state = 'backoff';
    await this.#recovery.wait(error, signal);
  }
}
