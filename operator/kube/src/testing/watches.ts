import type { ServerResponse } from 'node:http';
import type { Clock, Timer } from '../runtime/clock.ts';
import { isJson, type Stored } from './json.ts';
import { kindName, type KindDefinition } from './kinds.ts';
import { selectionOf, type Selection } from './selection.ts';
import { badRequest, invalid, StatusError } from './status.ts';
import type { Change, VersionedStore } from './versions.ts';

interface Watcher {
  readonly kind: KindDefinition;
  readonly select: Selection;
  readonly response: ServerResponse;
  readonly bookmarks: boolean;
  /** Nothing up to this version is shown; a real server waits in silence for a version of the future. */
  readonly after: number;
  /** Lines that wait while the kind is frozen. */
  held: string[];
  damaged: boolean;
  timers: Timer[];
}

export interface WatchHubOptions {
  readonly store: VersionedStore;
  readonly clock: Clock;
  /** Between bookmarks; 60 s on a real server. */
  readonly bookmarkMs: number;
  /** False: refuse sendInitialEvents, as old servers do. */
  readonly watchList: boolean;
}

/** All open watches. */
export class WatchHub {
  readonly #options: WatchHubOptions;
  readonly #watchers = new Set<Watcher>();
  readonly #frozen = new Set<string>();

  constructor(options: WatchHubOptions) {
    this.#options = options;
    options.store.onChange((kind, change) => this.#publish(kind, change));
  }

  get size(): number {
    return this.#watchers.size;
  }

  /** Begins a watch; throws before anything was sent when the request is refused. */
  open(kind: KindDefinition, namespace: string | undefined, query: URLSearchParams, response: ServerResponse): void {
    const initial = query.get('sendInitialEvents') === 'true';
    const version = this.#checked(kind, query, initial);
    const bookmarks = query.get('allowWatchBookmarks') === 'true';
    const select = selectionOf(kind, namespace, query);
    const watcher: Watcher = { kind, select, response, bookmarks, after: version, held: [], damaged: false, timers: [] };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    try {
      this.#backlog(watcher, version, initial);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      this.#write(watcher, 'ERROR', error.body());
      response.end();
      return;
    }
    this.#watchers.add(watcher);
    this.#schedule(watcher, Number(query.get('timeoutSeconds') ?? 1800));
    response.on('close', () => this.#drop(watcher));
  }

  /** Cuts connections: half-way through a line when `torn`. */
  disconnect(kind?: string, torn = false): void {
    for (const watcher of this.#watchers) {
      if (kind !== undefined && kindName(watcher.kind) !== kind) continue;
      if (torn) watcher.response.write('{"type":"MODIFIED","object":{"metad');
      watcher.response.socket?.destroySoon();
      this.#drop(watcher);
    }
  }

  /** Ends the watches of a kind as the server does when the kind is no longer served. */
  end(kind: string): void {
    for (const watcher of this.#watchers) {
      if (kindName(watcher.kind) !== kind) continue;
      watcher.response.end();
      this.#drop(watcher);
    }
  }

  /** Holds back everything for the watches of a kind: their caches go stale while writes go on. */
  freeze(kind: string): void {
    this.#frozen.add(kind);
  }

  thaw(kind: string): void {
    this.#frozen.delete(kind);
    for (const watcher of this.#watchers) {
      if (kindName(watcher.kind) !== kind) continue;
      for (const line of watcher.held.splice(0)) watcher.response.write(line);
    }
  }

  /** Cuts the next event of each watch of a kind in half: the line stays, the object is lost. */
  damage(kind: string): void {
    for (const watcher of this.#watchers) if (kindName(watcher.kind) === kind) watcher.damaged = true;
  }

  /** Sends raw text to all watches of a kind, for damage. */
  inject(kind: string, text: string): void {
    for (const watcher of this.#watchers) if (kindName(watcher.kind) === kind) watcher.response.write(text);
  }

  close(): void {
    for (const watcher of this.#watchers) {
      watcher.response.end();
      this.#drop(watcher);
    }
  }

  #checked(kind: KindDefinition, query: URLSearchParams, initial: boolean): number {
    const text = query.get('resourceVersion') ?? '';
    const version = text === '' ? 0 : Number(text);
    if (!Number.isInteger(version) || version < 0) throw badRequest(`invalid resource version ${JSON.stringify(text)}`);
    if (initial && (!this.#options.watchList || query.get('resourceVersionMatch') !== 'NotOlderThan')) {
      throw invalid(`${kind.resource.kind}ListOptions`, '', 'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch');
    }
    return version;
  }

  #backlog(watcher: Watcher, version: number, initial: boolean): void {
    const { store } = this.#options;
    const kind = kindName(watcher.kind);
    if (version > 0 && !initial) {
      for (const change of store.since(kind, version)) this.#show(watcher, change);
      return;
    }
    for (const object of store.current(kind).values()) if (watcher.select(object)) this.#write(watcher, 'ADDED', object);
    if (initial) this.#bookmark(watcher, { annotations: { 'k8s.io/initial-events-end': 'true' } });
  }

  #publish(kind: string, change: Change): void {
    for (const watcher of this.#watchers) if (kindName(watcher.kind) === kind) this.#show(watcher, change);
  }

  /** Writes a change as it is for this selection: an object that leaves it is DELETED, with its last state inside it. */
  #show(watcher: Watcher, { object, previous, version }: Change): void {
    if (version <= watcher.after) return;
    const before = previous !== undefined && watcher.select(previous);
    const after = object !== undefined && watcher.select(object);
    if (after) this.#write(watcher, before ? 'MODIFIED' : 'ADDED', object);
    else if (before) {
      const last: Stored = { ...previous, metadata: { ...previous.metadata, resourceVersion: String(version) } };
      this.#write(watcher, 'DELETED', last);
    }
  }

  #bookmark(watcher: Watcher, metadata: object = {}): void {
    const { apiVersion, kind } = watcher.kind.resource;
    if (this.#options.store.version < watcher.after) return;
    const resourceVersion = String(this.#options.store.version);
    this.#write(watcher, 'BOOKMARK', { apiVersion, kind, metadata: { resourceVersion, creationTimestamp: null, ...metadata } });
  }

  #write(watcher: Watcher, type: string, object: unknown): void {
    const whole = JSON.stringify({ type, object });
    const line = `${watcher.damaged ? whole.slice(0, whole.length / 2) : whole}\n`;
    watcher.damaged = false;
    if (this.#frozen.has(kindName(watcher.kind)) && isJson(object)) watcher.held.push(line);
    else watcher.response.write(line);
  }

  #schedule(watcher: Watcher, timeoutSeconds: number): void {
    const { clock, bookmarkMs } = this.#options;
    const repeat = (): void => {
      this.#bookmark(watcher);
      watcher.timers[0] = clock.after(bookmarkMs, repeat);
    };
    watcher.timers = [
      watcher.bookmarks ? clock.after(bookmarkMs, repeat) : { cancel: () => {} },
      clock.after(timeoutSeconds * 1000, () => {
        if (watcher.bookmarks) this.#bookmark(watcher);
        watcher.response.end();
        // Its connection may take its time to close; nothing may be written to it meanwhile.
        this.#drop(watcher);
      }),
    ];
  }

  #drop(watcher: Watcher): void {
    this.#watchers.delete(watcher);
    for (const timer of watcher.timers) timer.cancel();
  }
}
