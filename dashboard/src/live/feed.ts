import { asError, type Clock, type Informer, isApiError, keyOf, type Transport, type Resource } from '@agentfleet/kube';
import { bounds } from '../base/config.ts';
import { resources } from '../base/resources.ts';
import { followed, type Followed, type KindState, type LiveChange } from '../base/wire.ts';
import type { Shape, Shrunk, Watches } from './watches.ts';

/** Namespaces in which a user may watch a kind. */
export interface Scope {
  readonly namespaces: 'All' | readonly string[];
  readonly denied: readonly string[];
}

const apiGroup = 'authorization.k8s.io/v1';

/** Reports whether the user may watch the kind in a namespace, or in all: the API server's own answer. */
async function mayWatch(transport: Transport, { group, plural }: Resource, namespace?: string): Promise<boolean> {
  const answer = await transport.request<{ readonly status?: { readonly allowed?: boolean } }>({
    method: 'POST',
    path: `/apis/${apiGroup}/selfsubjectaccessreviews`,
    body: {
      apiVersion: apiGroup,
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { group, resource: plural, verb: 'watch', ...(namespace === undefined ? {} : { namespace }) } },
    },
    retry: false,
    timeoutMs: 10_000,
  });
  return answer.status?.allowed === true;
}

/** Namespaces that the user may list; undefined: none may be listed. */
async function visibleNamespaces(transport: Transport): Promise<readonly string[] | undefined> {
  try {
    const { items } = await transport.request<{ readonly items: readonly { readonly metadata: { readonly name: string } }[] }>({
      method: 'GET',
      path: '/api/v1/namespaces',
      query: { limit: 1000 },
      retry: false,
      timeoutMs: 10_000,
    });
    return items.map(({ metadata }) => metadata.name);
  } catch {
    return undefined;
  }
}

/** Requests about rights that are under way at once. */
const asking = 25;

/** The first namespaces in which the user may watch the kind, as many as are shown. */
async function watchable(transport: Transport, resource: Resource, names: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (let at = 0; at < names.length && found.length < bounds.namespacesPerUser; at += asking) {
    const part = names.slice(at, at + asking);
    const allowed = await Promise.all(part.map((namespace) => mayWatch(transport, resource, namespace)));
    found.push(...part.filter((_, index) => allowed[index]));
  }
  return found;
}

/** All namespaces by one watch where the user may; else each of `wanted` that they may, and the others by name. */
export async function scopeOf(transport: Transport, resource: Resource, wanted: readonly string[]): Promise<Scope> {
  if (await mayWatch(transport, resource)) return { namespaces: 'All', denied: [] };
  const asked = [...new Set(wanted)].slice(0, bounds.namespacesPerUser);
  const allowed = await Promise.all(asked.map((namespace) => mayWatch(transport, resource, namespace)));
  return { namespaces: asked.filter((_, at) => allowed[at]), denied: asked.filter((_, at) => !allowed[at]) };
}

/** Receiver of changes and states. Called in order. */
export interface Listener {
  change(change: LiveChange): void;
  /** Resolves when there is room for another change, or the client has gone. Never rejects. */
  room(): Promise<void>;
  state(states: readonly KindState[]): void;
  /** Nothing comes after this: the login is over, or the service stops. */
  end(): void;
}

/** Objects of one kind for one user: one watch where they may see all namespaces, else one for each that they may. */
class KindFeed {
  readonly kind: Followed;
  readonly #informers: readonly Informer<Shrunk>[];
  readonly scope: Scope;
  /** Gives its watches back. */
  readonly close: () => void;
  #changed = new Set<string>();

  constructor(kind: Followed, scope: Scope, watches: Watches, onChange: () => void) {
    this.kind = kind;
    this.scope = scope;
    const each = scope.namespaces === 'All' ? [undefined] : scope.namespaces;
    const taken = each.map((namespace) => watches.take(kind, namespace));
    this.#informers = taken.map(({ informer }) => informer);
    const note = (object: Shrunk): void => {
      this.#changed.add(keyOf(object));
      onChange();
    };
    const leave = this.#informers.map((informer) =>
      informer.addHandler({ onAdd: note, onUpdate: (_, object) => note(object), onDelete: note }),
    );
    this.close = () => {
      for (const end of leave) end();
      for (const watch of taken) watch.release();
    };
  }

  /** Keys of all that is known now. */
  keys(): readonly string[] {
    return this.#informers.flatMap(({ lister }) => [...lister.values()].map(keyOf));
  }

  /** Keys of what changed since the last call. */
  take(): ReadonlySet<string> {
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }

  /** Returns the changes of these objects, as of now. */
  changeOf(keys: readonly string[]): LiveChange {
    const shapes = keys.map((key) => this.#shapeOf(key));
    return { kind: this.kind, upsert: shapes.flatMap((shape) => shape ?? []), remove: keys.filter((_, at) => shapes[at] === undefined) };
  }

  #shapeOf(key: string): Shape | undefined {
    for (const { lister } of this.#informers) {
      const found = lister.get(key);
      if (found !== undefined) return found.shape;
    }
    return undefined;
  }

  state(): KindState {
    const { kind, scope } = this;
    const { namespaces, denied } = scope;
    const refusal = this.#informers.map((informer) => informer.refusal).find((error) => error !== undefined);
    if (refusal !== undefined) return { kind, namespaces, denied, state: 'Denied', message: asError(refusal).message };
    if (namespaces !== 'All' && namespaces.length === 0) {
      const message = `you may watch ${resources[kind].plural} in no namespace that was named`;
      return { kind, namespaces, denied, state: 'Denied', message };
    }
    const away = this.#informers.find(({ state, lastError }) => state === 'backoff' || lastError !== undefined);
    const synced = this.#informers.every((informer) => informer.hasSynced());
    if (away?.lastError !== undefined) {
      const message = isApiError(away.lastError) ? away.lastError.message : 'the API server does not answer; it is asked again';
      return { kind, namespaces, denied, state: 'Stale', message };
    }
    return { kind, namespaces, denied, state: synced ? 'Live' : 'Loading' };
  }
}

/** Objects of one message: what a browser takes without a pause. */
const partSize = 1000;

/** Changes that one listener has not got yet. They go in parts, each as the objects are then: a slow one gets fewer, and none is old. */
class Reader {
  readonly #listener: Listener;
  /** By kind, the one first that has waited longest. */
  readonly #owed = new Map<KindFeed, Set<string>>();
  readonly #begun = new Set<Followed>();
  /** Kinds of which everything was sent that was there at first. */
  readonly #whole = new Set<Followed>();
  #states: readonly KindState[] = [];
  #reported = '';
  #sending = false;

  constructor(listener: Listener) {
    this.#listener = listener;
  }

  owe(kind: KindFeed, keys: Iterable<string>): void {
    const owed = this.#owed.get(kind) ?? new Set();
    for (const key of keys) owed.add(key);
    this.#owed.set(kind, owed);
    void this.#send();
  }

  state(states: readonly KindState[]): void {
    this.#states = states;
    this.#tellStates();
  }

  leave(): void {
    this.#owed.clear();
  }

  end(): void {
    this.leave();
    this.#listener.end();
  }

  async #send(): Promise<void> {
    if (this.#sending) return;
    this.#sending = true;
    for (let part = this.#next(); part !== undefined; part = this.#next()) {
      this.#listener.change(part);
      this.#tellStates();
      await this.#listener.room();
    }
    this.#sending = false;
  }

  #next(): LiveChange | undefined {
    const [first] = this.#owed;
    if (first === undefined) return undefined;
    const [kind, owed] = first;
    const keys: string[] = [];
    for (const key of owed) {
      if (keys.length === partSize) break;
      keys.push(key);
      owed.delete(key);
    }
    this.#owed.delete(kind);
    if (owed.size > 0) this.#owed.set(kind, owed);
    const begins = !this.#begun.has(kind.kind);
    this.#begun.add(kind.kind);
    return { ...kind.changeOf(keys), ...(begins && { reset: true }) };
  }

  /** A kind is live when the listener has what was there, not when we have it. */
  #tellStates(): void {
    const owed = new Set([...this.#owed.keys()].map(({ kind }) => kind));
    const states = this.#states.map((known): KindState => {
      const { kind, state } = known;
      if (state === 'Live' && this.#begun.has(kind) && !owed.has(kind)) this.#whole.add(kind);
      return state === 'Live' && !this.#whole.has(kind) ? { ...known, state: 'Loading' } : known;
    });
    const text = JSON.stringify(states);
    if (text === this.#reported) return;
    this.#reported = text;
    this.#listener.state(states);
  }
}

/** All that one user follows: shared by all browsers that show the same namespaces with the same credential. */
export class Feed {
  readonly #readers = new Set<Reader>();
  readonly #abort = new AbortController();
  readonly #clock: Clock;
  #kinds: readonly KindFeed[] = [];
  #flush: { cancel(): void } | undefined;
  #next: { cancel(): void } | undefined;

  private constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Finds out what the user may see, and begins to follow it. */
  static async open(transport: Transport, wanted: readonly string[], watches: Watches, clock: Clock): Promise<Feed> {
    const feed = new Feed(clock);
    const first = await scopeOf(transport, resources.AgentTask, []);
    const more = first.namespaces === 'All' ? [] : ((await visibleNamespaces(transport)) ?? []);
    // Namespaces in which tasks may be seen come first: of a thousand namespaces the user may read in the last one alone.
    const readable = more.length > bounds.namespacesPerUser ? await watchable(transport, resources.AgentTask, more) : [];
    const names = [...wanted, ...readable, ...more];
    const scopes = await Promise.all(followed.map((kind) => scopeOf(transport, resources[kind], names)));
    feed.#kinds = followed.map((kind, at) => new KindFeed(kind, narrowed(scopes[at]!, wanted), watches, () => feed.#soon()));
    feed.#look();
    return feed;
  }

  get listeners(): number {
    return this.#readers.size;
  }

  /** Reports all that is known, part by part, and every change, until `close`. The function returned ends it. */
  listen(listener: Listener): () => void {
    if (this.#abort.signal.aborted) {
      listener.end();
      return () => undefined;
    }
    const reader = new Reader(listener);
    this.#readers.add(reader);
    reader.state(this.states());
    for (const kind of this.#kinds) reader.owe(kind, kind.keys());
    return () => {
      reader.leave();
      this.#readers.delete(reader);
    };
  }

  states(): readonly KindState[] {
    return this.#kinds.map((kind) => kind.state());
  }

  close(): void {
    this.#abort.abort();
    for (const kind of this.#kinds) kind.close();
    this.#flush?.cancel();
    this.#next?.cancel();
    for (const reader of this.#readers) reader.end();
    this.#readers.clear();
  }

  #soon(): void {
    this.#flush ??= this.#clock.after(bounds.batchMs, () => this.#report());
  }

  /** States change without an event of an object: looked at twice a second. */
  #look(): void {
    if (this.#abort.signal.aborted) return;
    this.#report();
    this.#next = this.#clock.after(500, () => this.#look());
  }

  /** Changes first: a state is about what was sent before it. */
  #report(): void {
    this.#flush?.cancel();
    this.#flush = undefined;
    for (const kind of this.#kinds) {
      const changed = kind.take();
      if (changed.size > 0) for (const reader of this.#readers) reader.owe(kind, changed);
    }
    const states = this.states();
    for (const reader of this.#readers) reader.state(states);
  }
}

/** Namespaces that were not asked for by name and that may not be seen are left out silently. */
function narrowed(scope: Scope, wanted: readonly string[]): Scope {
  return { ...scope, denied: scope.denied.filter((name) => wanted.includes(name)) };
}
