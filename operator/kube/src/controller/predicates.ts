import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../api/object.ts';

/** A change of a cached object. */
export type Change<T> =
  { readonly type: 'add' | 'delete'; readonly object: T } | { readonly type: 'update'; readonly old: T; readonly object: T };

/** Whether a change matters. */
export type Predicate<T> = (change: Change<T>) => boolean;

/** Passes what is no update, and updates that `changed` holds for (controller-runtime pkg/predicate). */
function onUpdate<T extends KubeObject>(changed: (old: T, object: T) => boolean): Predicate<T> {
  return (change) => change.type !== 'update' || changed(change.old, change.object);
}

/** The spec changed, or deletion began; drops what only touched status, labels or annotations. */
export const generationChanged: Predicate<KubeObject> = onUpdate((old, object) => old.metadata.generation !== object.metadata.generation);

/** Drops resyncs. */
export const versionChanged: Predicate<KubeObject> = onUpdate(
  (old, object) => old.metadata.resourceVersion !== object.metadata.resourceVersion,
);

export const labelsChanged: Predicate<KubeObject> = onUpdate(
  (old, object) => !isDeepStrictEqual(old.metadata.labels ?? {}, object.metadata.labels ?? {}),
);

export const annotationsChanged: Predicate<KubeObject> = onUpdate(
  (old, object) => !isDeepStrictEqual(old.metadata.annotations ?? {}, object.metadata.annotations ?? {}),
);

export function allOf<T>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (change) => predicates.every((predicate) => predicate(change));
}

export function anyOf<T>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (change) => predicates.some((predicate) => predicate(change));
}
