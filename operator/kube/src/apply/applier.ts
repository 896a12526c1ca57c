import { keyOf, type Declaration, type KubeObject, type ObjectKey } from '../api/object.ts';
import { compareVersions } from '../api/resourceVersion.ts';
import type { ResourceClient } from '../client/client.ts';
import { contains, contentHash } from './canonical.ts';

/** The cache that shows what is in place. */
export interface AppliedView<T> {
  readonly lister: { get(key: ObjectKey): T | undefined };
  hasSeen(version: string): boolean;
}

export interface ApplierOptions<T extends KubeObject> {
  readonly client: ResourceClient<T>;
  readonly view: AppliedView<T>;
  readonly fieldManager: string;
  readonly force?: boolean;
  /** `status` to apply that subresource. */
  readonly subresource?: string;
  /** False: every call writes, for callers that compare with the cache themselves; then nothing is hashed or kept. Default true. */
  readonly remember?: boolean;
}

export interface ApplyResult<T> {
  /** False when nothing was sent, because all of it is in place. */
  readonly written: boolean;
  /** What the server answered, or the cached object; undefined when our own write is not in the cache yet. */
  readonly object: T | undefined;
}

interface Last {
  readonly hash: string;
  readonly uid: string | undefined;
  readonly version: string | undefined;
}

/**
 * Server-side apply that does not write what is in place. A declaration is in place when it is the same as the last
 * one applied here and the cached object is the answer to it, is older than that answer, or still contains every field.
 * Whoever changes a declared field is noticed by the cache, and the next apply writes again. After a restart each
 * object is applied once: only the server knows which fields an older declaration held.
 */
export class Applier<T extends KubeObject> {
  readonly #options: ApplierOptions<T>;
  readonly #last = new Map<ObjectKey, Last>();

  constructor(options: ApplierOptions<T>) {
    this.#options = options;
  }

  /**
   * Applies unless in place. Rejects as the client does. `onWrite` hears of the new version before this resolves. With
   * `onVersion` the write is refused with a conflict when the object is not at this version any more.
   */
  async apply(declaration: Declaration, signal?: AbortSignal, onWrite?: (object: T) => void, onVersion?: string): Promise<ApplyResult<T>> {
    const key = keyOf(declaration);
    const { client, fieldManager, force = true, subresource, remember = true } = this.#options;
    const hash = remember ? contentHash(declaration) : '';
    const cached = this.#options.view.lister.get(key);
    if (this.#inPlace(this.#last.get(key), hash, cached, declaration)) return { written: false, object: cached };
    // Forgotten first: when the answer is lost, we do not know what is in place.
    this.#last.delete(key);
    // Not part of what is compared: the version changes with every write.
    const metadata = onVersion === undefined ? declaration.metadata : { ...declaration.metadata, resourceVersion: onVersion };
    const object = await client.apply(
      { ...declaration, metadata },
      {
        fieldManager,
        force,
        signal,
        ...(subresource === undefined ? {} : { subresource }),
      },
    );
    if (remember) this.#last.set(key, { hash, uid: object.metadata.uid, version: object.metadata.resourceVersion });
    onWrite?.(object);
    return { written: true, object };
  }

  /** Objects whose last declaration is remembered. */
  get size(): number {
    return this.#last.size;
  }

  /** Forgets an object that is gone, so that memory does not grow. */
  forget(key: ObjectKey): void {
    this.#last.delete(key);
  }

  #inPlace(last: Last | undefined, hash: string, cached: T | undefined, declaration: Declaration): boolean {
    if (last === undefined || last.hash !== hash || last.version === undefined) return false;
    // Not in the cache: our write is on its way, unless the cache is past it, then the object was deleted.
    if (cached === undefined) return !this.#options.view.hasSeen(last.version);
    if (cached.metadata.uid !== last.uid) return false;
    const order = compareVersions(cached.metadata.resourceVersion, last.version);
    return (order !== undefined && order <= 0) || contains(cached, declaration);
  }
}
