import { asError, type Clock, type Informer, isApiError, keyOf, type Transport, type Resource } from '@agentfleet/kube';
import { bounds } from '../base/config.ts';
import { resources } from '../base/resources.ts';
import { followed, type Followed, type KindState, type LiveChange } from '../base/wire.ts';
import type { Shape, Shrunk, Watches } from './watches.ts';

/** Where a user may watch a kind. */
export interface Scope {
  readonly namespaces: 'All' | readonly string[];
  readonly denied: readonly string[];
}

const apiGroup = 'authorization.k8s.io/v1';

/** Whether the user may watch the kind in a namespace, or in all: the API server's own answer. */
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

/** Who listens. Called in order; what it returns does not matter. */
export interface Listener {
  change(change: LiveChange): void;
  state(states: readonly KindState[]): void;
  /** Nothing comes after this: the login is over, or the service stops. */
  end(): void;
}

const keyOfShape = (shape: Shape): string => ('key' in shape ? shape.key : keyOf(shape));

/** Objects of one kind for one user: one watch where they may see all namespaces, else one for each that they may. */
class KindFeed {
  readonly kind: Followed;
  readonly #informers: readonly Informer<Shrunk>[];
  readonly scope: Scope;
  /** Gives its watches back. */
  readonly close: () => void;
  #changed = new Map<string, Shape | undefined>();

  constructor(kind: Followed, scope: Scope, watches: Watches, onChange: () => void) {
    this.kind = kind;
    this.scope = scope;
    const each = scope.namespaces === 'All' ? [undefined] : scope.namespaces;
    const taken = each.map((namespace) => watches.take(kind, namespace));
    this.#informers = taken.map(({ informer }) => informer);
    const note = (object: Shrunk, gone: boolean): void => {
      this.#changed.set(keyOf(object), gone ? undefined : object.shape);
      onChange();
    };
    const leave = this.#informers.map((informer) =>
      informer.addHandler({
        onAdd: (object) => note(object, false),
        onUpdate: (_, object) => note(object, false),
        onDelete: (object) => note(object, true),
      }),
    );
    this.close = () => {
      for (const end of leave) end();
      for (const watch of taken) watch.release();
    };
  }

  /** What is known now, in parts that a browser takes without a pause. */
  snapshot(): readonly LiveChange[] {
    const all = this.#informers.flatMap((informer) => informer.lister.list().flatMap(({ shape }) => shape ?? []));
    const parts = Array.from({ length: Math.ceil(all.length / 1000) }, (_, at) => all.slice(at * 1000, at * 1000 + 1000));
    const changes = (parts.length === 0 ? [[]] : parts).map((upsert) => ({ kind: this.kind, upsert, remove: [] }));
    return changes.map((change, at) => (at === 0 ? { ...change, reset: true } : change));
  }

  /** What changed since the last call; undefined: nothing did. */
  take(): LiveChange | undefined {
    if (this.#changed.size === 0) return undefined;
    const changed = this.#changed;
    this.#changed = new Map();
    const upsert = [...changed.values()].filter((shape) => shape !== undefined);
    const present = new Set(upsert.map(keyOfShape));
    return { kind: this.kind, upsert, remove: [...changed.keys()].filter((key) => !present.has(key)) };
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

/** All that one user follows: shared by all browsers that show the same namespaces with the same credential. */
export class Feed {
  readonly #listeners = new Set<Listener>();
  readonly #abort = new AbortController();
  readonly #clock: Clock;
  #kinds: readonly KindFeed[] = [];
  #flush: { cancel(): void } | undefined;
  #reported = '';

  private constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Finds out what the user may see, and begins to follow it. */
  static async open(transport: Transport, wanted: readonly string[], watches: Watches, clock: Clock): Promise<Feed> {
    const feed = new Feed(clock);
    const first = await scopeOf(transport, resources.AgentTask, []);
    const more = first.namespaces === 'All' ? [] : ((await visibleNamespaces(transport)) ?? []);
    // Where tasks may be seen comes first: of a thousand namespaces the user may read in the last one alone.
    const readable = more.length > bounds.namespacesPerUser ? await watchable(transport, resources.AgentTask, more) : [];
    const names = [...wanted, ...readable, ...more];
    const scopes = await Promise.all(followed.map((kind) => scopeOf(transport, resources[kind], names)));
    feed.#kinds = followed.map((kind, at) => new KindFeed(kind, narrowed(scopes[at]!, wanted), watches, () => feed.#soon()));
    feed.#look();
    return feed;
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  /** Reports all that is known at once, then every change, until `close`. The function returned ends it. */
  listen(listener: Listener): () => void {
    if (this.#abort.signal.aborted) {
      listener.end();
      return () => undefined;
    }
    listener.state(this.states());
    for (const kind of this.#kinds) for (const change of kind.snapshot()) listener.change(change);
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  states(): readonly KindState[] {
    return this.#kinds.map((kind) => kind.state());
  }

  close(): void {
    this.#abort.abort();
    for (const kind of this.#kinds) kind.close();
    this.#flush?.cancel();
    for (const listener of this.#listeners) listener.end();
    this.#listeners.clear();
  }

  #soon(): void {
    this.#flush ??= this.#clock.after(bounds.batchMs, () => {
      this.#flush = undefined;
      for (const kind of this.#kinds) {
        const change = kind.take();
        if (change !== undefined) for (const listener of this.#listeners) listener.change(change);
      }
      this.#tellStates();
    });
  }

  /** States change without an event of an object: looked at twice a second. */
  #look(): void {
    if (this.#abort.signal.aborted) return;
    this.#tellStates();
    const timer = this.#clock.after(500, () => this.#look());
    this.#abort.signal.addEventListener('abort', () => timer.cancel(), { once: true });
  }

  #tellStates(): void {
    const states = this.states();
    const text = JSON.stringify(states);
    if (text === this.#reported) return;
    this.#reported = text;
    for (const listener of this.#listeners) listener.state(states);
  }
}

/** Namespaces that were not asked for by name and that may not be seen are left out silently. */
function narrowed(scope: Scope, wanted: readonly string[]): Scope {
  return { ...scope, denied: scope.denied.filter((name) => wanted.includes(name)) };
}
