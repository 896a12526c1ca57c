import { createHash } from 'node:crypto';
import {
  isRecord,
  keyOf,
  type Declaration,
  type KubeObject,
  type ObjectKey,
  compareVersions,
  type OwnerReference,
} from '../api/resource.ts';
import type { ResourceClient } from '../client/client.ts';

/** JSON with sorted keys and without undefined: equal declarations give equal text. */
export function canonical(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item)).join(',')}]`;
  const entries = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(',')}}`;
}

/** A short name of a declaration's content, 128 bits in base64url. */
export function contentHash(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('base64url').slice(0, 22);
}

/**
 * Reports whether every declared field is in the object with the same value. Lists must have the same length, their items may have more
 * fields than declared, as the server fills defaults in. Where the server writes a value in another form (a quantity), the answer is false:
 * the caller writes once more, and the server finds nothing to change.
 */
export function contains(object: unknown, declared: unknown): boolean {
  if (declared === undefined) return true;
  if (Array.isArray(declared)) {
    return Array.isArray(object) && object.length === declared.length && declared.every((item, at) => contains(object[at], item));
  }
  if (isRecord(declared)) {
    return isRecord(object) && Object.entries(declared).every(([key, item]) => contains(object[key], item));
  }
  return object === declared;
}

/** The cache that shows what is in place. */
export interface AppliedView<T> {
  readonly lister: { get(key: ObjectKey): T | undefined };
  hasSeen(version: string, key: ObjectKey): boolean;
}

export interface ApplierOptions<T extends KubeObject> {
  readonly client: ResourceClient<T>;
  readonly view: AppliedView<T>;
  readonly fieldManager: string;
  /** `status` to apply that subresource. */
  readonly subresource?: string;
}

export interface ApplyResult<T> {
  /** False when nothing was sent, because all of it is in place. */
  readonly written: boolean;
  /** The answer of the server, or the cached object; undefined when the applier's own write is not in the cache yet. */
  readonly object: T | undefined;
}

interface Last {
  readonly hash: string;
  readonly uid: string | undefined;
  readonly version: string | undefined;
}

/**
 * Server-side apply that does not write what is in place. A declaration is in place when it is the same as the last one applied here and
 * the cached object is the answer to it, is older than that answer, or still contains every field. The cache shows when another client
 * changes a declared field, and the next apply writes again. After a restart each object is applied once: only the server knows which
 * fields an older declaration held.
 */
export class Applier<T extends KubeObject> {
  readonly #options: ApplierOptions<T>;
  readonly #last = new Map<ObjectKey, Last>();

  constructor(options: ApplierOptions<T>) {
    this.#options = options;
  }

  /**
   * Applies unless in place. Rejects as the client does. With `onVersion` the write is refused with a conflict when the object is not at
   * this version any more.
   */
  async apply(declaration: Declaration, signal?: AbortSignal, onVersion?: string): Promise<ApplyResult<T>> {
    const key = keyOf(declaration);
    const { client, fieldManager, subresource } = this.#options;
    const hash = contentHash(declaration);
    const cached = this.#options.view.lister.get(key);
    if (this.#inPlace(this.#last.get(key), key, hash, cached, declaration)) return { written: false, object: cached };
    // Forgotten first: when the answer is lost, we do not know what is in place.
    this.#last.delete(key);
    // Not part of what is compared: the version changes with every write.
    const metadata = onVersion === undefined ? declaration.metadata : { ...declaration.metadata, resourceVersion: onVersion };
    const object = await client.apply(
      { ...declaration, metadata },
      {
        fieldManager,
        signal,
        ...(subresource === undefined ? {} : { subresource }),
      },
    );
    this.#last.set(key, { hash, uid: object.metadata.uid, version: object.metadata.resourceVersion });
    return { written: true, object };
  }

  /** Forgets an object that is gone, so that memory does not grow. */
  forget(key: ObjectKey): void {
    this.#last.delete(key);
  }

  #inPlace(last: Last | undefined, key: ObjectKey, hash: string, cached: T | undefined, declaration: Declaration): boolean {
    if (last === undefined || last.hash !== hash || last.version === undefined) return false;
    // Not in the cache: our write is on its way, unless the cache is past it, then the object was deleted.
    if (cached === undefined) return !this.#options.view.hasSeen(last.version, key);
    if (cached.metadata.uid !== last.uid) return false;
    const order = compareVersions(cached.metadata.resourceVersion, last.version);
    return (order !== undefined && order <= 0) || contains(cached, declaration);
  }
}

/** The owner that manages an object; at most one. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller === true);
}

/** Reports whether this very incarnation of the owner controls the object: names come again, uids do not. */
export function isControlledBy(object: KubeObject, owner: KubeObject): boolean {
  return owner.metadata.uid !== undefined && controllerOf(object)?.uid === owner.metadata.uid;
}

/**
 * The reference by which `owner` controls a child. With `blockOwnerDeletion` its writer needs `update` on the owner's
 * finalizers subresource. Throws a TypeError when the owner has no uid or kind: it was not read from the server.
 */
export function controllerReference(owner: KubeObject, blockOwnerDeletion = true): OwnerReference {
  const { apiVersion, kind } = owner;
  const { name, uid } = owner.metadata;
  if (apiVersion === undefined || kind === undefined || uid === undefined) {
    throw new TypeError(`an owner needs apiVersion, kind and uid: ${kind ?? 'object'} ${name}`);
  }
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion };
}

export function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false;
}

/** Removes it if it is there. Rejects with a conflict when the object has changed since it was read. */
export async function removeFinalizer<T extends KubeObject>(
  client: ResourceClient<T>,
  object: T,
  finalizer: string,
  signal?: AbortSignal,
): Promise<T> {
  if (!hasFinalizer(object, finalizer)) return object;
  const { uid, resourceVersion, finalizers = [] } = object.metadata;
  const rest = finalizers.filter((other) => other !== finalizer);
  // A merge patch replaces the whole list, so it holds only for the version whose list was read.
  return client.patch(object.metadata, { metadata: { uid, resourceVersion, finalizers: rest } }, { signal });
}
