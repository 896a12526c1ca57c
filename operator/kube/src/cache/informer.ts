import { keyOf, type KubeObject, type ObjectKey, atLeast, compareVersions, parseKey, resourceName } from '../api/resource.ts';
import { asError } from '../runtime/errors.ts';
import { slices } from '../runtime/clock.ts';
import { isApiError } from '../transport/apiError.ts';
import type { WatchEvent } from '../watch/watch.ts';
import { Reflector, type ReflectorOptions, type ReflectorState, type ReflectorTarget } from './reflector.ts';
import { Store, type Indexer, type Lister, SyncWaiters } from './store.ts';

/** Reported of every change, after the cache shows it. They return at once: usually they only put a key into a queue. */
export interface Handler<T> {
  onAdd?(object: T, isInInitialList: boolean): void;
  /** `old` and `current` have the same uid, and differ in their version. */
  onUpdate?(old: T, current: T): void;
  /** Once for each uid, with the last state known. */
  onDelete?(object: T): void;
}

export interface InformerOptions<T extends KubeObject> extends ReflectorOptions<T> {
  /** Follows these namespaces, each by a watch of its own, and not the whole cluster; without effect on a resource without namespaces. */
  readonly namespaces?: readonly string[] | undefined;
  /** Follows the objects of these names, each by a watch of its own; for a resource without namespaces. */
  readonly names?: readonly string[];
  readonly indexers?: Readonly<Record<string, Indexer<T>>>;
}

/** A part of the collection that is followed by a watch of its own. */
interface Scope<T extends KubeObject> {
  readonly reflector: Reflector<T>;
  /** Newest version that the cache shows of this part. */
  observed: string | undefined;
  /** Until the first list is in the cache. */
  initial: boolean;
}

/** Name of a part; the one part of a whole collection has no name. */
type ScopeName = string;

function scopeOptions<T extends KubeObject>(options: InformerOptions<T>): ReadonlyMap<ScopeName, ReflectorOptions<T>> {
  const { namespaces, names, ...whole } = options;
  if (names !== undefined && !whole.resource.namespaced)
    return new Map(names.map((name) => [name, { ...whole, fieldSelector: `metadata.name=${name}` }]));
  if (namespaces === undefined || !whole.resource.namespaced) return new Map([['', whole]]);
  return new Map(namespaces.map((namespace) => [namespace, { ...whole, namespace }]));
}

/** A cache of one collection, or of parts of it, that follows the server and calls its handlers. */
export class Informer<T extends KubeObject = KubeObject> {
  readonly name: string;
  readonly #options: InformerOptions<T>;
  readonly #store: Store<T>;
  readonly #scopes: ReadonlyMap<ScopeName, Scope<T>>;
  readonly #handlers = new Set<Handler<T>>();
  readonly #waiters: SyncWaiters;

  constructor(options: InformerOptions<T>) {
    this.#options = options;
    this.name = resourceName(options.resource);
    this.#store = new Store(this.#guarded(options.indexers ?? {}));
    this.#waiters = new SyncWaiters(options.clock, this.name);
    this.#scopes = new Map([...scopeOptions(options)].map(([name, scope]) => [name, this.#scope(name, scope)]));
  }

  get lister(): Lister<T> {
    return this.#store;
  }

  /** Of several parts one that does not watch, if there is one. */
  get state(): ReflectorState {
    const states = this.#reflectors.map(({ state }) => state);
    return states.find((state) => state !== 'watching') ?? 'watching';
  }

  get lastError(): Error | undefined {
    return this.#reflectors.map(({ lastError }) => lastError).find((error) => error !== undefined);
  }

  /** Returns the error with which the server refuses this resource: not served, not allowed. Undefined while it shows it. */
  get refusal(): Error | undefined {
    const refused = (error: Error | undefined): boolean => isApiError(error) && [401, 403, 404].includes(error.code);
    return this.#reflectors.map(({ lastError }) => lastError).find(refused);
  }

  hasSynced(): boolean {
    return [...this.#scopes.values()].every(({ observed }) => observed !== undefined);
  }

  /**
   * Reports whether the cache shows a write that was answered with this version. `key` is that of the object: where parts are followed,
   * only its part is asked, as the others show nothing of it. An object in no part is never shown, and is not waited for.
   */
  hasSeen(version: string, key?: ObjectKey): boolean {
    if (key === undefined || this.#scopes.has('')) return [...this.#scopes.values()].every(({ observed }) => atLeast(observed, version));
    const scope = this.#scopeOf(key);
    return scope === undefined || atLeast(scope.observed, version);
  }

  /** Resolves when the first list is in the cache; rejects with AF_CACHE_NOT_SYNCED after `timeoutMs`, AF_STOPPED on abort. */
  waitForSync(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    return this.#waiters.wait(() => this.hasSynced(), timeoutMs, signal);
  }

  /** Adds a handler; what the cache holds is reported to it at once. The function returned removes it. */
  addHandler(handler: Handler<T>): () => void {
    this.#handlers.add(handler);
    for (const object of this.#store.values()) this.#call(handler, (to) => to.onAdd?.(object, true));
    return () => this.#handlers.delete(handler);
  }

  /** Follows the server until the signal is aborted. */
  run(signal: AbortSignal): Promise<void> {
    return Promise.all(this.#reflectors.map((reflector) => reflector.run(signal))).then(() => undefined);
  }

  get #reflectors(): readonly Reflector<T>[] {
    return [...this.#scopes.values()].map(({ reflector }) => reflector);
  }

  #scope(name: ScopeName, options: ReflectorOptions<T>): Scope<T> {
    const target: ReflectorTarget<T> = {
      replace: (objects, version) => this.#replace(name, scope, objects, version),
      apply: (event) => this.#apply(scope, event),
      progress: (version) => this.#progress(scope, version),
    };
    const scope: Scope<T> = { reflector: new Reflector(options, target), observed: undefined, initial: true };
    return scope;
  }

  /** The part that an object is in; undefined: none. */
  #scopeOf(key: ObjectKey): Scope<T> | undefined {
    const { namespace, name } = parseKey(key);
    return this.#scopes.get(namespace ?? name);
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
  async #replace(name: ScopeName, scope: Scope<T>, objects: readonly T[], version: string): Promise<void> {
    const pause = slices(this.#options.clock);
    const present = new Set<string>();
    for (const object of objects) {
      present.add(keyOf(object));
      this.#put(scope, object);
      if (pause.due()) await pause.yield();
    }
    for (const key of this.#store.keys()) {
      if (name !== '' && this.#scopeOf(key) !== scope) continue;
      const old = present.has(key) ? undefined : this.#store.get(key);
      if (old !== undefined) this.#remove(old);
      if (pause.due()) await pause.yield();
    }
    scope.initial = false;
    this.#progress(scope, version);
  }

  #apply(scope: Scope<T>, { type, object }: WatchEvent<T>): void {
    const old = this.#store.get(keyOf(object));
    const version = object.metadata.resourceVersion;
    // After a reconnect the server may repeat what we have; versions of one resource only grow (KEP-5504).
    const order = compareVersions(version, scope.observed);
    if (order !== undefined && order <= 0) return;
    if (type === 'DELETED') this.#delete(old, object);
    else this.#put(scope, object);
    if (version !== undefined) this.#progress(scope, version);
  }

  /** The last state is that of the event; another uid means that we missed the end of the one we knew. */
  #delete(old: T | undefined, last: T): void {
    if (old !== undefined) this.#remove(old.metadata.uid === last.metadata.uid ? last : old);
  }

  #put(scope: Scope<T>, object: T): void {
    const old = this.#store.get(keyOf(object));
    if (old !== undefined && old.metadata.uid !== object.metadata.uid) {
      this.#remove(old);
      this.#put(scope, object);
      return;
    }
    if (old?.metadata.resourceVersion !== undefined && old.metadata.resourceVersion === object.metadata.resourceVersion) return;
    this.#store.set(object);
    const { initial } = scope;
    if (old === undefined) this.#tell((to) => to.onAdd?.(object, initial));
    else this.#tell((to) => to.onUpdate?.(old, object));
  }

  #remove(last: T): void {
    this.#store.delete(keyOf(last));
    this.#tell((to) => to.onDelete?.(last));
  }

  #progress(scope: Scope<T>, version: string): void {
    if (version === '') return;
    scope.observed = version;
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
  }
}
