import {
  Applier,
  isConflict,
  isNotFound,
  keyOf,
  resourceName,
  ResourceClient,
  type KubeObject,
  type Resource,
  type Transport,
} from '@agentfleet/kube';
import { fieldManagers } from '@agentfleet/protocol/api';
import type { ChildKind } from './caches.ts';
import type { Manifest } from '../../operands/manifest.ts';

/** An object that is there, and its kind. */
export interface Child {
  readonly resource: Resource;
  readonly object: KubeObject;
}

/** Writes children, and only what is not in place. */
export class ChildWriter {
  readonly #appliers = new Map<string, Applier<KubeObject>>();
  readonly #clients = new Map<string, ResourceClient>();

  constructor(transport: Transport, kinds: readonly ChildKind[]) {
    for (const { resource, cache } of kinds) {
      const client = new ResourceClient(transport, resource);
      const applier = new Applier({ client, view: cache, fieldManager: fieldManagers.operator });
      this.#clients.set(resourceName(resource), client);
      this.#appliers.set(resourceName(resource), applier);
      cache.addHandler({ onDelete: (object) => applier.forget(keyOf(object)) });
    }
  }

  /** Applies by server-side apply. What the server has, or undefined when our own write is not in the cache yet. */
  async apply({ resource, object }: Manifest, signal: AbortSignal): Promise<KubeObject | undefined> {
    const applied = await this.#applier(resource).apply(object, signal);
    return applied.object;
  }

  /** Deletes this very incarnation; what is gone or has been made again is left alone. */
  async remove({ resource, object }: Child, signal: AbortSignal): Promise<void> {
    if (object.metadata.deletionTimestamp !== undefined) return;
    const { uid } = object.metadata;
    try {
      const precondition = uid === undefined ? {} : { uid };
      await this.#client(resource).delete(object.metadata, { ...precondition, propagationPolicy: 'Background', signal });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  #applier(resource: Resource): Applier<KubeObject> {
    const found = this.#appliers.get(resourceName(resource));
    if (found === undefined) throw new RangeError(`${resourceName(resource)} is no kind of child`);
    return found;
  }

  #client(resource: Resource): ResourceClient {
    const found = this.#clients.get(resourceName(resource));
    if (found === undefined) throw new RangeError(`${resourceName(resource)} is no kind of child`);
    return found;
  }
}
