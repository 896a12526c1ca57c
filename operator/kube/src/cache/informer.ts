import { keyOf, type KubeObject, atLeast, compareVersions, resourceName } from '../api/resource.ts';
import { asError } from '../runtime/errors.ts';
import { slices } from '../runtime/clock.ts';
import { isApiError } from '../transport/apiError.ts';
import type { WatchEvent } from '../watch/watch.ts';
import { Reflector, type ReflectorOptions, type ReflectorState, type ReflectorTarget } from './reflector.ts';
import { Store, type Indexer, type Lister, VersionWaiters } from './store.ts';

/** Reported of every change, after the cache shows it. They return at once: usually they only put a key into a queue. */
export interface Handler<T> {
  onAdd?(object: T, isInInitialList: boolean): void;
  /** `old` and `current` have the same uid. They are the same object at a resync. */
  onUpdate?(old: T, current: T): void;
  /** Once for each uid, with the last state known. `finalStateUnknown`: it vanished while no watch ran. */
  onDelete?(object: T, finalStateUnknown: boolean): void;
}

export interface InformerOptions<T extends KubeObject> extends ReflectorOptions<T> {
  readonly indexers?: Readonly<Record<string, Indexer<T>>>;
  /** Called when a handler or an indexer threw; the cache goes on. */
  readonly onHandlerError?: (error: Error) => void;
}

/** A cache of one collection that follows the server and tells its handlers. */
export class Informer<T extends KubeObject = KubeObject> {
  readonly name: string;
  readonly #options: InformerOptions<T>;
  readonly #store: Store<T>;
  readonly #reflector: Reflector<T>;
  readonly #handlers = new Set<Handler<T>>();
  readonly #waiters: VersionWaiters;
  #observed: string | undefined;
  #initial = true;

  constructor(options: InformerOptions<T>) {
    this.#options = options;
    this.name = resourceName(options.resource);
    this.#store = new Store(this.#guarded(options.indexers ?? {}));
    this.#waiters = new VersionWaiters(options.clock, this.name);
    const target: ReflectorTarget<T> = {
      replace: (objects, version) => this.#replace(objects, version),
      apply: (event) => this.#apply(event),
      progress: (version) => this.#progress(version),
    };
    this.#reflector = new Reflector(options, target);
  }

  get lister(): Lister<T> {
    return this.#store;
  }

  get state(): ReflectorState {
    return this.#reflector.state;
  }

  get lastError(): Error | undefined {
    return this.#reflector.lastError;
  }

  /** Why the server does not show this resource: not served, not allowed. Undefined while it does. */
  get refusal(): Error | undefined {
    const error = this.#reflector.lastError;
    return isApiError(error) && [401, 403, 404].includes(error.code) ? error : undefined;
  }

  hasSynced(): boolean {
    return this.#observed !== undefined;
  }

  /** Whether the cache shows a write that was answered with this version. */
  hasSeen(version: string): boolean {
    return atLeast(this.#observed, version);
  }

  /** Resolves when the first list is in the cache; rejects with AF_CACHE_NOT_SYNCED after `timeoutMs`, AF_STOPPED on abort. */
  waitForSync(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    return this.#waiters.wait(() => this.hasSynced(), 'the first list', timeoutMs, signal);
  }

  /** Resolves when the cache has seen this version; rejects as `waitForSync` does. */
  waitForVersion(version: string, timeoutMs: number, signal?: AbortSignal): Promise<void> {
    return this.#waiters.wait(() => this.hasSeen(version), `version ${version}`, timeoutMs, signal);
  }

  /** Adds a handler; what the cache holds is reported to it at once. The function returned removes it. */
  addHandler(handler: Handler<T>): () => void {
    this.#handlers.add(handler);
    for (const object of this.#store.values()) this.#call(handler, (to) => to.onAdd?.(object, true));
    return () => this.#handlers.delete(handler);
  }

  /** Tells all handlers of all objects again, as updates from an object to itself. */
  resync(): void {
    for (const object of this.#store.list()) this.#tell((to) => to.onUpdate?.(object, object));
  }

  /** Follows the server until the signal is aborted. */
  run(signal: AbortSignal): Promise<void> {
    return this.#reflector.run(signal);
  }

  /** An indexer that throws finds nothing under that object; the cache stays whole. */
  #guarded(indexers: Readonly<Record<string, Indexer<T>>>): Record<string, Indexer<T>> {
    const guard = (of: Indexer<T>): Indexer<T> => {
      return (object) => {
        try {
          return of(object);
        } catch (thrown) {
          this.#complain('an indexer threw', thrown);
          return [];
        }
      };
    };
    return Object.fromEntries(Object.entries(indexers).map(([name, of]) => [name, guard(of)]));
  }

  /** In slices: the first list of a big cluster must not hold up timers and the renewal of the lease. */
  async #replace(objects: readonly T[], version: string): Promise<void> {
    const pause = slices(this.#options.clock);
    const present = new Set<string>();
    for (const object of objects) {
      present.add(keyOf(object));
      this.#put(object);
      if (pause.due()) await pause.yield();
    }
    for (const key of this.#store.keys()) {
      const old = present.has(key) ? undefined : this.#store.get(key);
      if (old !== undefined) this.#remove(old, true);
      if (pause.due()) await pause.yield();
    }
    this.#initial = false;
    this.#progress(version);
  }

  #apply({ type, object }: WatchEvent<T>): void {
    const old = this.#store.get(keyOf(object));
    const version = object.metadata.resourceVersion;
    // After a reconnect the server may repeat what we have; versions of one resource only grow (KEP-5504).
    const order = compareVersions(version, this.#observed);
    if (order !== undefined && order <= 0) return;
    if (type === 'DELETED') this.#delete(old, object);
    else this.#put(object);
    if (version !== undefined) this.#progress(version);
  }

  /** The last state is that of the event; another uid means that we missed the end of the one we knew. */
  #delete(old: T | undefined, last: T): void {
    if (old === undefined) return;
    if (old.metadata.uid === last.metadata.uid) this.#remove(last, false);
    else this.#remove(old, true);
  }

  #put(object: T): void {
    const old = this.#store.get(keyOf(object));
    if (old !== undefined && old.metadata.uid !== object.metadata.uid) {
      this.#remove(old, true);
      this.#put(object);
      return;
    }
    if (old?.metadata.resourceVersion !== undefined && old.metadata.resourceVersion === object.metadata.resourceVersion) return;
    this.#store.set(object);
    const initial = this.#initial;
    if (old === undefined) this.#tell((to) => to.onAdd?.(object, initial));
    else this.#tell((to) => to.onUpdate?.(old, object));
  }

  #remove(last: T, finalStateUnknown: boolean): void {
    this.#store.delete(keyOf(last));
    this.#tell((to) => to.onDelete?.(last, finalStateUnknown));
  }

  #progress(version: string): void {
    if (version === '') return;
    this.#observed = version;
    this.#waiters.wake();
  }

  #tell(tell: (handler: Handler<T>) => void): void {
    for (const handler of this.#handlers) this.#call(handler, tell);
  }

  #call(handler: Handler<T>, tell: (handler: Handler<T>) => void): void {
    try {
      tell(handler);
    } catch (thrown) {
      this.#complain('a handler threw', thrown);
    }
  }

  #complain(what: string, thrown: unknown): void {
    const error = asError(thrown);
    this.#options.log.error(what, { code: 'AF_CACHE_HANDLER', resource: this.name, error: error.stack ?? error.message });
    this.#options.onHandlerError?.(error);
  }
}
