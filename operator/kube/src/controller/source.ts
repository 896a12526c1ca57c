import { isDeepStrictEqual } from 'node:util';
import { type KubeObject, keyOf, type ObjectKey } from '../api/resource.ts';
import type { Informer } from '../cache/informer.ts';
import { lowPriority } from '../queue/queue.ts';

/** A change of a cached object. */
export type Change<T> =
  { readonly type: 'add' | 'delete'; readonly object: T } | { readonly type: 'update'; readonly old: T; readonly object: T };

/** Reports whether a change matters. */
export type Predicate<T> = (change: Change<T>) => boolean;

/** Passes what is no update, and updates that `changed` holds for (controller-runtime pkg/predicate). */
function onUpdate<T extends KubeObject>(changed: (old: T, object: T) => boolean): Predicate<T> {
  return (change) => change.type !== 'update' || changed(change.old, change.object);
}

/** The spec changed, or deletion began; drops what only touched status, labels or annotations. */
export const generationChanged: Predicate<KubeObject> = onUpdate((old, object) => old.metadata.generation !== object.metadata.generation);

export const labelsChanged: Predicate<KubeObject> = onUpdate(
  (old, object) => !isDeepStrictEqual(old.metadata.labels ?? {}, object.metadata.labels ?? {}),
);

export const annotationsChanged: Predicate<KubeObject> = onUpdate(
  (old, object) => !isDeepStrictEqual(old.metadata.annotations ?? {}, object.metadata.annotations ?? {}),
);

export function anyOf<T>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (change) => predicates.some((predicate) => predicate(change));
}

/** Puts a key into the queue of a controller. */
export type Enqueue = (key: ObjectKey, options?: { readonly priority?: number; readonly afterMs?: number }) => void;

/** Source of keys. */
export interface Source {
  readonly name: string;
  hasSynced(): boolean;
  waitForSync(timeoutMs: number, signal: AbortSignal): Promise<void>;
  /** Begins to enqueue, also what is there already. The function returned ends it. */
  start(enqueue: Enqueue): () => void;
}

export interface WatchSourceOptions<T extends KubeObject> {
  /** Keys to reconcile when this object changed; default its own. */
  readonly map?: (object: T) => readonly ObjectKey[];
  /** Drops changes that cannot matter. */
  readonly predicate?: Predicate<T>;
}

/**
 * Keys from the changes of a cache. An update maps the old and the new object, so that both owners hear of a child that
 * moved. What was there at the start comes with low priority (controller-runtime pkg/handler).
 */
export function watches<T extends KubeObject>(informer: Informer<T>, options: WatchSourceOptions<T> = {}): Source {
  const map = options.map ?? ((object: T): readonly ObjectKey[] => [keyOf(object)]);
  const passes = (event: Parameters<Predicate<T>>[0]): boolean => options.predicate?.(event) ?? true;
  const start = (enqueue: Enqueue): (() => void) =>
    informer.addHandler({
      onAdd: (object, initial) => {
        if (!passes({ type: 'add', object })) return;
        for (const key of map(object)) enqueue(key, initial ? { priority: lowPriority } : {});
      },
      onUpdate: (old, object) => {
        if (!passes({ type: 'update', old, object })) return;
        for (const key of new Set([...map(old), ...map(object)])) enqueue(key);
      },
      onDelete: (object) => {
        if (!passes({ type: 'delete', object })) return;
        for (const key of map(object)) enqueue(key);
      },
    });
  return {
    name: informer.name,
    hasSynced: () => informer.hasSynced(),
    waitForSync: (timeoutMs, signal) => informer.waitForSync(timeoutMs, signal),
    start,
  };
}

/** Keys from elsewhere: a timer, a socket. `start` as that of a source; there is nothing to wait for. */
export function sourceOf(name: string, start: Source['start']): Source {
  return { name, hasSynced: () => true, waitForSync: () => Promise.resolve(), start };
}

/** Keys from where nothing knows when the source starts. Returns the source and the function that feeds it. */
export function channel(name: string): { readonly source: Source; readonly enqueue: Enqueue } {
  const sinks = new Set<Enqueue>();
  return {
    source: sourceOf(name, (enqueue) => {
      sinks.add(enqueue);
      return () => sinks.delete(enqueue);
    }),
    enqueue: (key, options) => {
      for (const sink of sinks) sink(key, options);
    },
  };
}

/**
 * The controlling owner of a kind, as a key. `known` finds the owner in the cache: an owner of the same name and
 * another uid is another object, and its controller must not hear of this child.
 */
export function toController(
  kind: { readonly apiVersion: string; readonly kind: string; readonly namespaced: boolean },
  known?: (key: ObjectKey) => KubeObject | undefined,
): (child: KubeObject) => readonly ObjectKey[] {
  const group = (apiVersion: string): string => (apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '');
  return (child) => {
    const owner = child.metadata.ownerReferences?.find((reference) => reference.controller === true);
    if (owner === undefined || owner.kind !== kind.kind || group(owner.apiVersion) !== group(kind.apiVersion)) return [];
    const namespace = kind.namespaced ? child.metadata.namespace : undefined;
    const key = namespace === undefined ? owner.name : `${namespace}/${owner.name}`;
    const present = known?.(key);
    return present !== undefined && present.metadata.uid !== owner.uid ? [] : [key];
  };
}
