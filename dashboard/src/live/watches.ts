import { type Clock, Informer, type KubeObject, type Log, type Random, type Transport } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import { bounds } from '../base/config.ts';
import { resources } from '../base/resources.ts';
import type { Followed, FollowedShapes } from '../base/wire.ts';
import { rowOf } from './rows.ts';

export interface FeedTools {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export type Shape = FollowedShapes[Followed];

const shapeOf = (kind: Followed, object: KubeObject): Shape => (kind === 'AgentTask' ? rowOf(object as AgentTask) : (object as Shape));

/** Caches keep what the page gets: a tenth of a task. */
export interface Shrunk extends KubeObject {
  readonly shape?: Shape;
}

function shrink(kind: Followed) {
  return (object: KubeObject): Shrunk => {
    const { name, namespace, uid, resourceVersion, annotations } = object.metadata;
    const metadata = {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      // A bookmark that ends a streamed list is known by its annotation.
      ...(annotations === undefined ? {} : { annotations }),
    };
    const isWhole = 'spec' in object && object.spec !== undefined;
    return { metadata, ...(isWhole ? { shape: shapeOf(kind, object) } : {}) };
  };
}

interface Open {
  readonly informer: Informer<Shrunk>;
  readonly abort: AbortController;
  users: number;
}

/** A watch that is shared; `release` gives it back. */
export interface Watch {
  readonly informer: Informer<Shrunk>;
  release(): void;
}

/** The watches of one user: one for each kind and namespace, whatever lists of namespaces their pages show. */
export class Watches {
  readonly #transport: Transport;
  readonly #tools: FeedTools;
  readonly #open = new Map<string, Open>();

  constructor(transport: Transport, tools: FeedTools) {
    this.#transport = transport;
    this.#tools = tools;
  }

  get size(): number {
    return this.#open.size;
  }

  /** The watch of a kind in a namespace, or in all; it runs until the last one has released it. */
  take(kind: Followed, namespace: string | undefined): Watch {
    const key = `${kind} ${namespace ?? ''}`;
    const open = this.#open.get(key) ?? this.#begin(key, kind, namespace);
    open.users += 1;
    let held = true;
    const release = (): void => {
      if (!held) return;
      held = false;
      open.users -= 1;
      if (open.users > 0) return;
      this.#open.delete(key);
      open.abort.abort();
    };
    return { informer: open.informer, release };
  }

  #begin(key: string, kind: Followed, namespace: string | undefined): Open {
    const informer = new Informer<Shrunk>({
      ...this.#tools,
      transport: this.#transport,
      resource: resources[kind],
      ...(namespace === undefined ? {} : { namespace }),
      watchSeconds: bounds.watchSeconds,
      transform: shrink(kind),
    });
    const open = { informer, abort: new AbortController(), users: 0 };
    this.#open.set(key, open);
    void informer.run(open.abort.signal);
    return open;
  }
}
