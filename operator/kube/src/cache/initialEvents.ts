import { keyOf, type KubeObject } from '../api/object.ts';
import type { WatchEvent } from '../watch/watch.ts';

/** Of the bookmark that ends the streamed list (KEP-3157). */
const endAnnotation = 'k8s.io/initial-events-end';

/** Gathers the objects of a streamed list until the bookmark that ends it. */
export class InitialEvents<T extends KubeObject> {
  #objects: Map<string, T> | undefined = new Map<string, T>();

  get complete(): boolean {
    return this.#objects === undefined;
  }

  /** True when this event ended the list. */
  take({ type, object }: WatchEvent<T>): boolean {
    if (type === 'BOOKMARK') return object.metadata.annotations?.[endAnnotation] === 'true';
    if (type === 'DELETED') this.#objects?.delete(keyOf(object));
    else this.#objects?.set(keyOf(object), object);
    return false;
  }

  /** The list; lets go of it, because the stream lives on for minutes. */
  objects(): readonly T[] {
    const all = [...(this.#objects?.values() ?? [])];
    this.#objects = undefined;
    return all;
  }
}
