import type { Stored } from './json.ts';
import { expired } from './status.ts';

/** One write as watches see it. */
export interface Change {
  readonly version: number;
  readonly key: string;
  /** Undefined when it was removed. */
  readonly object: Stored | undefined;
  /** Undefined when it is new. */
  readonly previous: Stored | undefined;
}

interface Collection {
  readonly current: Map<string, Stored>;
  log: Change[];
}

/** All objects with their history, under one counter of versions, as in etcd. */
export class VersionedStore {
  readonly #collections = new Map<string, Collection>();
  readonly #listeners = new Set<(kind: string, change: Change) => void>();
  #version = 1;
  #compacted = 0;

  get version(): number {
    return this.#version;
  }

  get compacted(): number {
    return this.#compacted;
  }

  /** Forgets the history up to now, or up to a version: lists and watches from before get a 410. */
  compact(version: number = this.#version): void {
    this.#compacted = Math.max(this.#compacted, version);
    for (const collection of this.#collections.values()) collection.log = collection.log.filter((change) => change.version > version);
  }

  get(kind: string, key: string): Stored | undefined {
    return this.#collection(kind).current.get(key);
  }

  current(kind: string): ReadonlyMap<string, Stored> {
    return this.#collection(kind).current;
  }

  kinds(): readonly string[] {
    return [...this.#collections.keys()];
  }

  /** The collection as it was; throws a 410 when that is compacted. */
  snapshot(kind: string, version: number): ReadonlyMap<string, Stored> {
    if (version < this.#compacted) throw expired(version);
    const then = new Map(this.current(kind));
    for (const change of this.#collection(kind).log.toReversed()) {
      if (change.version <= version) break;
      if (change.previous === undefined) then.delete(change.key);
      else then.set(change.key, change.previous);
    }
    return then;
  }

  /** Changes after a version, in order; throws a 410 when some of them are compacted. */
  since(kind: string, version: number): readonly Change[] {
    if (version < this.#compacted) throw expired(version);
    return this.#collection(kind).log.filter((change) => change.version > version);
  }

  /** Stores it under the next version. */
  put(kind: string, key: string, object: Stored): Stored {
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version + 1) } };
    this.#commit(kind, key, stored);
    return stored;
  }

  remove(kind: string, key: string): void {
    this.#commit(kind, key, undefined);
  }

  onChange(listener: (kind: string, change: Change) => void): void {
    this.#listeners.add(listener);
  }

  #commit(kind: string, key: string, object: Stored | undefined): void {
    const { current, log } = this.#collection(kind);
    this.#version += 1;
    const change = { version: this.#version, key, object, previous: current.get(key) };
    if (object === undefined) current.delete(key);
    else current.set(key, object);
    log.push(change);
    for (const listener of this.#listeners) listener(kind, change);
  }

  #collection(kind: string): Collection {
    const known = this.#collections.get(kind);
    if (known) return known;
    const made: Collection = { current: new Map(), log: [] };
    this.#collections.set(kind, made);
    return made;
  }
}
