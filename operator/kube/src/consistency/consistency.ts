import type { KubeObject, ObjectKey } from '../api/object.ts';
import { compareVersions } from '../api/resourceVersion.ts';
import type { Clock } from '../runtime/clock.ts';

/** The cache that must see a write. */
export interface ObservedCache {
  readonly name: string;
  hasSeen(version: string): boolean;
}

interface Write {
  readonly cache: ObservedCache;
  readonly version: string;
  /** Monotonic ms. */
  readonly at: number;
}

export interface ConsistencyOptions {
  readonly clock: Clock;
  /** Ms between two looks at the caches; default 100. */
  readonly pollMs?: number;
  /** A write that no cache shows after this no longer holds reconciles back; default 5 min (as agent-sandbox). */
  readonly timeoutMs?: number;
  /** Told when a write timed out: the watch is stuck, and readiness should say so. */
  readonly onTimeout?: (key: ObjectKey, cache: string) => void;
}

/**
 * Reading one's own writes: after a write for a key, its next reconcile waits until each cache has seen that write
 * (the `consistency` package of Kubernetes 1.36, KEP-5647; Cluster API util/controller/consistency.go). Bookmarks count,
 * so a write that changed nothing for the watch's selector does not hold the key back for long.
 */
export class Consistency {
  readonly #options: ConsistencyOptions;
  readonly #writes = new Map<ObjectKey, Map<ObservedCache, Write>>();

  constructor(options: ConsistencyOptions) {
    this.#options = options;
  }

  /** Records the answer to a write that a reconcile of `key` made. */
  wrote(key: ObjectKey, cache: ObservedCache, answer: KubeObject): void {
    const version = answer.metadata.resourceVersion;
    if (version === undefined) return;
    const writes = this.#writes.get(key) ?? new Map<ObservedCache, Write>();
    // Answers of parallel writes come in any order; the newest one covers the others.
    if ((compareVersions(writes.get(cache)?.version, version) ?? -1) > 0) return;
    this.#writes.set(key, writes.set(cache, { cache, version, at: this.#options.clock.monotonic() }));
  }

  /** Ms until it is worth asking again, or 0 when all writes for this key are visible. A `ReadinessGate`. */
  waitMs(key: ObjectKey): number {
    const writes = this.#writes.get(key);
    if (writes === undefined) return 0;
    const { clock, timeoutMs = 300_000, pollMs = 100, onTimeout } = this.#options;
    for (const [cache, write] of writes) {
      const late = clock.monotonic() - write.at >= timeoutMs;
      if (late) onTimeout?.(key, cache.name);
      if (late || cache.hasSeen(write.version)) writes.delete(cache);
    }
    if (writes.size > 0) return pollMs;
    this.#writes.delete(key);
    return 0;
  }

  /** Keys that wait for a cache. */
  get size(): number {
    return this.#writes.size;
  }

  forget(key: ObjectKey): void {
    this.#writes.delete(key);
  }
}
