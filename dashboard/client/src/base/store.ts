/** Current state of the fleet: one stream of changes, kept outside of React, so that ten thousand rows cost one render for a batch. */
import { useSyncExternalStore } from 'react';
import type { Followed, FollowedShapes, KindState, LiveChange } from '../../../src/base/wire.ts';

type Shape = FollowedShapes[Followed];
export type Link = 'Connecting' | 'Open' | 'Away';

export interface Fleet {
  readonly objects: Readonly<{ [K in Followed]: ReadonlyMap<string, FollowedShapes[K]> }>;
  readonly states: readonly KindState[];
  readonly link: Link;
  /** Time of the last sign of life, ms since the epoch. */
  readonly at: number;
}

const keyOf = (shape: Shape): string => ('key' in shape ? shape.key : `${shape.metadata.namespace ?? ''}/${shape.metadata.name}`);
const none = (): Record<Followed, Map<string, Shape>> => ({
  AgentTask: new Map(),
  ExpertPool: new Map(),
  ExpertScale: new Map(),
  EnergyModel: new Map(),
  RolloutPolicy: new Map(),
  AgentTaskOrder: new Map(),
});

/** Ms without any event after which a connection counts as lost: the service sends a sign of life every 10 s. */
const silenceMs = 25_000;

export class FleetStore {
  #objects = none();
  #fleet: Fleet = { objects: this.#objects as unknown as Fleet['objects'], states: [], link: 'Connecting', at: Date.now() };
  #listeners = new Set<() => void>();
  #source: EventSource | undefined;
  #frame = 0;
  #timer = 0;
  #silence = 0;

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  fleet = (): Fleet => this.#fleet;

  /** Follows namespaces (none: all that may be seen) until `close`. `onLost` is asked when the stream ends: the login may be over. */
  connect(namespaces: readonly string[], onLost: () => void): void {
    this.close();
    const source = new EventSource(`/api/live${namespaces.length === 0 ? '' : `?ns=${namespaces.map(encodeURIComponent).join(',')}`}`);
    this.#source = source;
    const again = (): void => this.connect(namespaces, onLost);
    // A way that dies without a word ends no connection: nothing but the silence shows it.
    const listen = (): void => {
      window.clearTimeout(this.#silence);
      this.#silence = window.setTimeout(() => {
        this.#set({ link: 'Away', at: this.#fleet.at });
        again();
      }, silenceMs);
    };
    listen();
    for (const event of ['open', 'state', 'change', 'beat', 'error']) source.addEventListener(event, listen);
    source.addEventListener('change', (event) => this.#take(JSON.parse((event as MessageEvent<string>).data) as LiveChange));
    source.addEventListener('state', (event) => {
      const states = JSON.parse((event as MessageEvent<string>).data) as KindState[];
      this.#set({ states });
      // A token that has expired is refused like a right that was taken back.
      if (states.some(({ state }) => state === 'Denied')) onLost();
    });
    source.addEventListener('beat', () => this.#set({}));
    source.addEventListener('open', () => this.#set({ link: 'Open' }));
    source.addEventListener('error', () => {
      this.#set({ link: 'Away', at: this.#fleet.at });
      onLost();
      // A browser gives up after an answer that is no stream; we do not.
      if (source.readyState === EventSource.CLOSED && this.#source === source) this.#timer = window.setTimeout(again, 3000);
    });
  }

  close(): void {
    window.clearTimeout(this.#timer);
    window.clearTimeout(this.#silence);
    this.#source?.close();
    this.#source = undefined;
  }

  #take({ kind, reset, upsert, remove }: LiveChange): void {
    if (reset === true) this.#objects[kind] = new Map();
    const into = this.#objects[kind];
    for (const shape of upsert) into.set(keyOf(shape), shape);
    for (const key of remove) into.delete(key);
    this.#dirty.add(kind);
    this.#set({});
  }

  #dirty = new Set<Followed>();

  #set(change: Partial<Fleet>): void {
    const { objects, ...rest } = this.#fleet;
    this.#fleet = { objects, ...rest, at: Date.now(), ...change };
    // At most one render for each frame, however much comes.
    if (this.#frame !== 0) return;
    this.#frame = window.requestAnimationFrame(() => {
      this.#frame = 0;
      const copies = [...this.#dirty].map((kind) => [kind, new Map(this.#objects[kind])] as const);
      this.#dirty.clear();
      for (const [kind, copy] of copies) this.#objects[kind] = copy;
      if (copies.length > 0) this.#fleet = { ...this.#fleet, objects: { ...this.#objects } as unknown as Fleet['objects'] };
      for (const listener of this.#listeners) listener();
    });
  }
}

export const store = new FleetStore();
export const useFleet = (): Fleet => useSyncExternalStore(store.subscribe, store.fleet);
