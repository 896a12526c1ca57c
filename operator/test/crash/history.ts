import type { Handler, KubeObject } from '@agentfleet/kube';
import type { FakeApiServer, VersionChange } from '@agentfleet/kube/testing';

/** Every version of every object, reported in order and without gaps, whatever watches show. */
export class History {
  readonly changes: { readonly kind: string; readonly change: VersionChange }[] = [];
  /** Present objects, by kind and key. */
  readonly present = new Map<string, KubeObject>();
  readonly #listeners: ((kind: string, change: VersionChange) => void)[] = [];

  constructor(server: FakeApiServer) {
    server.onChange((kind, change) => {
      this.changes.push({ kind, change });
      const key = `${kind} ${change.key}`;
      if (change.object === undefined) this.present.delete(key);
      else this.present.set(key, change.object as unknown as KubeObject);
      for (const listener of this.#listeners) listener(kind, change);
    });
  }

  onChange(listener: (kind: string, change: VersionChange) => void): void {
    this.#listeners.push(listener);
  }

  /** The history of one kind as a cache would show it. */
  of<T extends KubeObject>(kind: string): { addHandler(handler: Handler<T>): void } {
    const addHandler = (handler: Handler<T>): void => {
      this.#listeners.push((of, { object, previous }) => {
        if (of !== kind) return;
        const [now, before] = [object as T | undefined, previous as T | undefined];
        if (now === undefined && before !== undefined) handler.onDelete?.(before);
        else if (now !== undefined && before === undefined) handler.onAdd?.(now, false);
        else if (now !== undefined && before !== undefined) handler.onUpdate?.(before, now);
      });
    };
    return { addHandler };
  }
}
