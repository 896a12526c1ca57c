import type { KubeObject } from '../api/object.ts';
import type { ResourceClient } from '../client/client.ts';

export function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false;
}

/** A merge patch replaces the whole list, so it holds only for the version whose list was read. */
function patchFinalizers<T extends KubeObject>(
  client: ResourceClient<T>,
  object: T,
  finalizers: readonly string[],
  signal?: AbortSignal,
): Promise<T> {
  const { uid, resourceVersion } = object.metadata;
  return client.patch(object.metadata, { metadata: { uid, resourceVersion, finalizers } }, { signal });
}

/** Adds it unless it is there. Rejects with a conflict when the object has changed since it was read. */
export async function addFinalizer<T extends KubeObject>(
  client: ResourceClient<T>,
  object: T,
  finalizer: string,
  signal?: AbortSignal,
): Promise<T> {
  if (hasFinalizer(object, finalizer)) return object;
  return patchFinalizers(client, object, [...(object.metadata.finalizers ?? []), finalizer], signal);
}

/** Removes it if it is there. Rejects with a conflict when the object has changed since it was read. */
export async function removeFinalizer<T extends KubeObject>(
  client: ResourceClient<T>,
  object: T,
  finalizer: string,
  signal?: AbortSignal,
): Promise<T> {
  if (!hasFinalizer(object, finalizer)) return object;
  const rest = (object.metadata.finalizers ?? []).filter((other) => other !== finalizer);
  return patchFinalizers(client, object, rest, signal);
}
