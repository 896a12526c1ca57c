import { keyOf, type KubeObject, type ObjectKey, compareVersions } from '../api/resource.ts';
import type { Clock } from '../runtime/clock.ts';

/** The cache that must see a write. */
export interface ObservedCache {
  readonly name: string;
  hasSeen(version: string, key: ObjectKey): boolean;
}

/** The cache from which an object must go. */
export interface ListedCache {
  readonly name: string;
  readonly lister: { get(key: ObjectKey): KubeObject | undefined };
}

interface Expectation {
  readonly cache: string;
  /** Of a write, to be reached; undefined for a deletion. */
  readonly version: string | undefined;
  readonly met: () => boolean;
  /** Monotonic ms. */
  readonly at: number;
}

export interface ConsistencyOptions {
  readonly clock: Clock;
  /** Ms between two looks at the caches; default 100. */
  readonly pollMs?: number;
  /** A write that no cache shows after this no longer holds reconciles back; default 5 min (as agent-sandbox). */
  readonly timeoutMs?: number;
  /** Reported when a write timed out: the watch is stuck, and readiness should say so. */
  readonly onTimeout?: (key: ObjectKey, cache: string) => void;
}

/**
 * Reading one's own writes: after a write for a key, its next reconcile waits until each cache has seen that write
 * (the `consistency` package of Kubernetes 1.36, KEP-5647; Cluster API util/controller/consistency.go). Bookmarks count,
 * so a write that changed nothing for the watch's selector does not hold the key back for long.
 */
export class Consistency {
  readonly #options: ConsistencyOptions;
  /** For each key, by the cache of a write or the uid of a deletion. */
  readonly #expected = new Map<ObjectKey, Map<ObservedCache | string, Expectation>>();

  constructor(options: ConsistencyOptions) {
    this.#options = options;
  }

  /** Records the answer to a write that a reconcile of `key` made. */
  wrote(key: ObjectKey, cache: ObservedCache, answer: KubeObject): void {
    const version = answer.metadata.resourceVersion;
    if (version === undefined) return;
    // Answers of parallel writes come in any order; the newest one covers the others.
    const known = this.#expected.get(key)?.get(cache)?.version;
    if ((compareVersions(known, version) ?? -1) > 0) return;
    this.#expect(key, cache, { cache: cache.name, version, met: () => cache.hasSeen(version, keyOf(answer)) });
  }

  /**
   * Records that a reconcile of `key` deleted an object. The answer to a deletion has no version to wait for, so the
   * next reconcile waits until the cache no longer shows that incarnation as alive: counted once more it would be
   * replaced twice.
   */
  deleted(key: ObjectKey, cache: ListedCache, object: KubeObject): void {
    const { uid } = object.metadata;
    if (uid === undefined) return;
    const met = (): boolean => {
      const present = cache.lister.get(keyOf(object))?.metadata;
      return present?.uid !== uid || present.deletionTimestamp !== undefined;
    };
    this.#expect(key, uid, { cache: cache.name, version: undefined, met });
  }

  /** Ms until it is worth asking again, or 0 when all writes for this key are visible. A `ReadinessGate`. */
  waitMs(key: ObjectKey): number {
    const expected = this.#expected.get(key);
    if (expected === undefined) return 0;
    const { clock, timeoutMs = 300_000, pollMs = 100, onTimeout } = this.#options;
    for (const [id, expectation] of expected) {
      const late = clock.monotonic() - expectation.at >= timeoutMs;
      if (late) onTimeout?.(key, expectation.cache);
      if (late || expectation.met()) expected.delete(id);
    }
    if (expected.size > 0) return pollMs;
    this.#expected.delete(key);
    return 0;
  }

  /** Keys that wait for a cache. */
  get size(): number {
    return this.#expected.size;
  }

  forget(key: ObjectKey): void {
    this.#expected.delete(key);
  }

  #expect(key: ObjectKey, id: ObservedCache | string, expectation: Omit<Expectation, 'at'>): void {
    const expected = this.#expected.get(key) ?? new Map<ObservedCache | string, Expectation>();
    this.#expected.set(key, expected.set(id, { ...expectation, at: this.#options.clock.monotonic() }));
  }
}
