import { keyOf, type KubeObject, type ObjectKey } from '../api/resource.ts';
import type { Clock } from '../runtime/clock.ts';
import { KubeError } from '../runtime/errors.ts';

/** The values under which an object is found in an index. */
export type Indexer<T> = (object: T) => readonly string[];

/** Read access to a cache. Its objects are shared by all readers: never change them. */
export interface Lister<T extends KubeObject> {
  readonly size: number;
  get(key: ObjectKey): T | undefined;
  /** All objects, or those of one namespace. No order. */
  list(options?: { readonly namespace?: string }): T[];
  /** Objects under a value of an index. Throws a RangeError when there is no such index. */
  byIndex(index: string, value: string): T[];
  values(): IterableIterator<T>;
}

const namespaceIndex = 'namespace';

class Index<T> {
  readonly of: Indexer<T>;
  readonly #keys = new Map<string, Set<ObjectKey>>();

  constructor(of: Indexer<T>) {
    this.of = of;
  }

  add(key: ObjectKey, object: T): void {
    for (const value of this.of(object)) {
      const keys = this.#keys.get(value);
      if (keys) keys.add(key);
      else this.#keys.set(value, new Set([key]));
    }
  }

  remove(key: ObjectKey, object: T): void {
    for (const value of this.of(object)) {
      const keys = this.#keys.get(value);
      keys?.delete(key);
      if (keys?.size === 0) this.#keys.delete(value);
    }
  }

  keys(value: string): ReadonlySet<ObjectKey> | undefined {
    return this.#keys.get(value);
  }
}

/** Objects by key, with indexes that are kept at every change. */
export class Store<T extends KubeObject> implements Lister<T> {
  readonly #objects = new Map<ObjectKey, T>();
  readonly #indexes = new Map<string, Index<T>>();

  constructor(indexers: Readonly<Record<string, Indexer<T>>> = {}) {
    this.#indexes.set(namespaceIndex, new Index((object) => [object.metadata.namespace ?? '']));
    for (const [name, of] of Object.entries(indexers)) this.#indexes.set(name, new Index(of));
  }

  get size(): number {
    return this.#objects.size;
  }

  /** Puts it in place of what has its key. */
  set(object: T): void {
    const key = keyOf(object);
    const old = this.#objects.get(key);
    for (const index of this.#indexes.values()) {
      if (old) index.remove(key, old);
      index.add(key, object);
    }
    this.#objects.set(key, object);
  }

  delete(key: ObjectKey): void {
    const old = this.#objects.get(key);
    if (old === undefined) return;
    for (const index of this.#indexes.values()) index.remove(key, old);
    this.#objects.delete(key);
  }

  get(key: ObjectKey): T | undefined {
    return this.#objects.get(key);
  }

  keys(): IterableIterator<ObjectKey> {
    return this.#objects.keys();
  }

  values(): IterableIterator<T> {
    return this.#objects.values();
  }

  list({ namespace }: { readonly namespace?: string } = {}): T[] {
    return namespace === undefined ? [...this.#objects.values()] : this.byIndex(namespaceIndex, namespace);
  }

  byIndex(index: string, value: string): T[] {
    const found = this.#indexes.get(index);
    if (found === undefined) throw new RangeError(`no index ${JSON.stringify(index)}; there are ${[...this.#indexes.keys()].join(', ')}`);
    const objects: T[] = [];
    for (const key of found.keys(value) ?? []) {
      const object = this.#objects.get(key);
      if (object !== undefined) objects.push(object);
    }
    return objects;
  }
}

/** Those who wait for the first list of a cache. */
export class SyncWaiters {
  readonly #clock: Clock;
  readonly #where: string;
  readonly #checks = new Set<() => void>();

  constructor(clock: Clock, where: string) {
    this.#clock = clock;
    this.#where = where;
  }

  /** The cache went on. */
  wake(): void {
    for (const check of this.#checks) check();
  }

  wait(reached: () => boolean, timeoutMs: number, signal?: AbortSignal): Promise<void> {
    if (reached()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const end = (error?: KubeError): void => {
        this.#checks.delete(check);
        timer.cancel();
        signal?.removeEventListener('abort', stop);
        if (error) reject(error);
        else resolve();
      };
      const fail = (code: 'AF_CACHE_NOT_SYNCED' | 'AF_STOPPED', why: string, cure: string): void =>
        end(new KubeError(code, { what: `${why} before the cache had the first list`, where: this.#where, cure }));
      const check = (): void => {
        if (reached()) end();
      };
      const stop = (): void => fail('AF_STOPPED', 'stopped', 'Nothing to do');
      const timer = this.#clock.after(timeoutMs, () =>
        fail('AF_CACHE_NOT_SYNCED', `${timeoutMs} ms passed`, 'Check that the resource exists and may be listed and watched'),
      );
      this.#checks.add(check);
      signal?.addEventListener('abort', stop, { once: true });
      if (signal?.aborted) stop();
    });
  }
}
