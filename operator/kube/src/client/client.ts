import {
  type Declaration,
  type KubeObject,
  type ObjectName,
  collectionPath,
  objectPath,
  resourceName,
  type Resource,
} from '../api/resource.ts';
import { KubeError } from '../runtime/errors.ts';
import { isApiError, isConflict, isGone, isNotFound } from '../transport/apiError.ts';
import type { ApiRequest, Lane, Query, Transport } from '../transport/types.ts';
import type { Clock } from '../runtime/clock.ts';

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
}

export interface WriteOptions extends CallOptions {
  /** Owner of the fields in managedFields. */
  readonly fieldManager?: string;
  /** Validate and admit, store nothing. */
  readonly dryRun?: boolean;
}

export interface ListOptions extends CallOptions {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Objects in one page; default 500. */
  readonly limit?: number;
  /** Empty (default): the newest state. */
  readonly resourceVersion?: string;
  /**
   * Goes on when the moment of the list was compacted, with pages of a newer one: for lists that take longer than an API server remembers
   * (5 minutes), and that need not be of one moment.
   */
  readonly resume?: boolean;
}

export interface ListPage<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  /** A token when there are more pages. */
  readonly continue?: string;
}

export interface DeleteOptions extends CallOptions {
  /** Delete only this incarnation; a conflict otherwise. */
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  readonly gracePeriodSeconds?: number;
}

export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string;
  /** Take fields over from other managers; default true, as a controller owns what it declares. */
  readonly force?: boolean;
  readonly subresource?: string;
}

export interface PatchOptions extends WriteOptions {
  readonly subresource?: string;
}

interface ListBody<T> {
  readonly kind?: string;
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly T[] | null;
}

/** Fails on unknown or doubled fields instead of dropping them (KEP-2885). */
const strict: Query = { fieldValidation: 'Strict' };

function writeQuery(options: WriteOptions): Query {
  return { ...strict, fieldManager: options.fieldManager, dryRun: options.dryRun === true ? 'All' : undefined };
}

/** All verbs on one resource. Objects are plain JSON as the server sent it: nothing is dropped and times stay strings. */
export class ResourceClient<T extends KubeObject = KubeObject> {
  readonly resource: Resource<T>;
  readonly transport: Transport;
  readonly #lane: Lane;

  constructor(transport: Transport, resource: Resource<T>, lane: Lane = 'request') {
    this.transport = transport;
    this.resource = resource;
    this.#lane = lane;
  }

  /** Rejects with a 404 when it does not exist. */
  get(name: ObjectName, options: CallOptions = {}): Promise<T> {
    return this.#send({ method: 'GET', path: objectPath(this.resource, name) }, options);
  }

  /** Undefined when it does not exist. */
  async find(name: ObjectName, options: CallOptions = {}): Promise<T | undefined> {
    try {
      return await this.get(name, options);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Page by page, all of one moment; a 410 when the moment was compacted between two pages, unless the list may go on. */
  async *pages(options: ListOptions = {}): AsyncGenerator<ListPage<T>> {
    const { namespace, labelSelector, fieldSelector, limit = 500, resourceVersion, resume = false } = options;
    const { apiVersion, kind } = this.resource;
    let next: string | undefined;
    let resumed = false;
    do {
      const query = {
        labelSelector,
        fieldSelector,
        limit,
        continue: next,
        resourceVersion: next === undefined ? resourceVersion : undefined,
      };
      const path = collectionPath(this.resource, namespace);
      const body = await this.#send<ListBody<T>>({ method: 'GET', path, query }, options).catch((error: unknown) => {
        const onward = resume && !resumed && next !== undefined && isApiError(error) && isGone(error) ? error.continueToken : undefined;
        if (onward === undefined) throw error;
        return onward;
      });
      resumed = typeof body === 'string';
      if (typeof body === 'string') {
        next = body;
        continue;
      }
      checkList(body, this.resource);
      // Items of a list of a builtin kind do not say what they are.
      const items = (body.items ?? []).map((item) => (item.kind === undefined ? { apiVersion, kind, ...item } : item));
      next = body.metadata?.continue || undefined;
      yield { items, resourceVersion: body.metadata?.resourceVersion ?? '', ...(next === undefined ? {} : { continue: next }) };
    } while (next !== undefined);
  }

  /** All pages in memory. */
  async list(options: ListOptions = {}): Promise<T[]> {
    const all: T[] = [];
    for await (const page of this.pages(options)) for (const item of page.items) all.push(item);
    return all;
  }

  create(object: Omit<T, 'metadata'> & { readonly metadata: Partial<T['metadata']> }, options: WriteOptions = {}): Promise<T> {
    const path = collectionPath(this.resource, object.metadata.namespace);
    return this.#send({ method: 'POST', path, query: writeQuery(options), body: this.#typed(object) }, options);
  }

  /** Creates at a subresource: a token, an eviction, a binding. The answer is what that subresource answers. */
  createSubresource<R>(name: ObjectName, subresource: string, body: object, options: WriteOptions = {}): Promise<R> {
    return this.#send({ method: 'POST', path: objectPath(this.resource, name, subresource), query: writeQuery(options), body }, options);
  }

  /** Replaces the whole object; with a resourceVersion only when it is still that one. Prefer apply or patch. */
  update(object: T, options: PatchOptions = {}): Promise<T> {
    const path = objectPath(this.resource, object.metadata, options.subresource);
    return this.#send({ method: 'PUT', path, query: writeQuery(options), body: this.#typed(object) }, options);
  }

  /** The answer is the object when finalizers or grace keep it, else a Status. */
  delete(name: ObjectName, options: DeleteOptions = {}): Promise<KubeObject> {
    return this.#send({ method: 'DELETE', path: objectPath(this.resource, name), body: deleteBody(options) }, options);
  }

  /** Deletes this very object. False when it is gone, was made again under its name, or is of another version than the one asked for. */
  async remove({ metadata }: KubeObject, options: Omit<DeleteOptions, 'uid'> = {}): Promise<boolean> {
    try {
      await this.delete(metadata, { ...options, ...(metadata.uid === undefined ? {} : { uid: metadata.uid }) });
      return true;
    } catch (error) {
      if (isNotFound(error) || isConflict(error)) return false;
      throw error;
    }
  }

  /** Deletes what the selectors match, in one call. */
  async deleteCollection(list: ListOptions, options: DeleteOptions = {}): Promise<void> {
    const { namespace, labelSelector, fieldSelector } = list;
    const path = collectionPath(this.resource, namespace);
    await this.#send({ method: 'DELETE', path, query: { labelSelector, fieldSelector }, body: deleteBody(options) }, options);
  }

  /** JSON merge patch (RFC 7386); `metadata.resourceVersion` in it makes it conditional. */
  patch(name: ObjectName, patch: object, options: PatchOptions = {}): Promise<T> {
    const path = objectPath(this.resource, name, options.subresource);
    return this.#send(
      { method: 'PATCH', path, query: writeQuery(options), body: patch, contentType: 'application/merge-patch+json' },
      options,
    );
  }

  /** Server-side apply (KEP-555): the body names every field that this manager owns; what it stops naming is removed. */
  apply(body: Declaration, options: ApplyOptions): Promise<T> {
    const path = objectPath(this.resource, body.metadata, options.subresource);
    const query = { ...writeQuery(options), force: options.force ?? true };
    return this.#send({ method: 'PATCH', path, query, body: this.#typed(body), contentType: 'application/apply-patch+yaml' }, options);
  }

  applyStatus(body: Declaration, options: ApplyOptions): Promise<T> {
    return this.apply(body, { ...options, subresource: 'status' });
  }

  #typed(body: object): object {
    return { apiVersion: this.resource.apiVersion, kind: this.resource.kind, ...body };
  }

  #send<R>(request: ApiRequest, options: CallOptions): Promise<R> {
    return this.transport.request<R>({
      ...request,
      lane: this.#lane,
      signal: options.signal,
      ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
    });
  }
}

function deleteBody({ uid, resourceVersion, propagationPolicy, gracePeriodSeconds }: DeleteOptions): object {
  const preconditions = uid === undefined && resourceVersion === undefined ? undefined : { uid, resourceVersion };
  return { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy, gracePeriodSeconds, preconditions };
}

/** An answer that is no list, taken for an empty one, would empty a cache and set off a deletion of everything. */
function checkList(body: unknown, resource: Resource): asserts body is ListBody<KubeObject> {
  const list = body as ListBody<KubeObject> | null | undefined;
  const items: unknown = list?.items;
  if (Array.isArray(items) || (list?.kind?.endsWith('List') === true && (items === undefined || items === null))) return;
  const cure = 'Check what stands between us and the server';
  throw new KubeError('AF_API_MALFORMED', { what: 'the answer is no list', where: `LIST ${resourceName(resource)}`, cure });
}

export interface TokenSourceOptions {
  readonly client: Pick<ResourceClient, 'createSubresource'>;
  readonly account: { readonly namespace: string; readonly name: string };
  /** The pod that tokens end with; absent: they end with the account. */
  readonly pod?: { readonly name: string; readonly uid: string };
  readonly clock: Clock;
}

interface TokenAnswer {
  readonly status: { readonly token: string; readonly expirationTimestamp: string };
}

interface Held {
  readonly token: Promise<string>;
  /** Monotonic ms from which a new one is asked for. */
  renewAt: number;
}

/** Seconds that a token is asked for; the API server may give less. */
const lifeSeconds = 3600;
const renewShare = 0.8;
/** Before a renewal that failed is tried again. */
const renewalPauseMs = 10_000;
const callMs = 10_000;

/** Tokens of one ServiceAccount by TokenRequest, one for each audience. Kept until 80 % of their life. */
export class TokenSource {
  readonly #options: TokenSourceOptions;
  readonly #held = new Map<string, Held>();

  constructor(options: TokenSourceOptions) {
    this.#options = options;
  }

  /** A token for this audience. One that cannot be renewed is used as long as it lives. */
  token(audience: string): Promise<string> {
    const held = this.#held.get(audience);
    const now = this.#options.clock.monotonic();
    if (held !== undefined && now < held.renewAt) return held.token;
    const renewed = this.#ask(audience, (renewAt) => (asked.renewAt = renewAt)).catch((error: unknown) => {
      const isNewest = this.#held.get(audience) === asked;
      if (held === undefined) {
        if (isNewest) this.#held.delete(audience);
        throw error;
      }
      held.renewAt = this.#options.clock.monotonic() + renewalPauseMs;
      if (isNewest) this.#held.set(audience, held);
      return held.token;
    });
    // All who ask meanwhile wait for the same answer, and get the old token too where it fails.
    const asked: Held = { token: renewed, renewAt: Infinity };
    this.#held.set(audience, asked);
    return renewed;
  }

  forget(audience: string): void {
    this.#held.delete(audience);
  }

  async #ask(audience: string, onLife: (renewAt: number) => void): Promise<string> {
    const { client, pod, account, clock } = this.#options;
    const began = clock.monotonic();
    const boundObjectRef = pod === undefined ? undefined : { kind: 'Pod', apiVersion: 'v1', name: pod.name, uid: pod.uid };
    const { status } = await client.createSubresource<TokenAnswer>(
      account,
      'token',
      {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { audiences: [audience], expirationSeconds: lifeSeconds, ...(boundObjectRef !== undefined && { boundObjectRef }) },
      },
      { timeoutMs: callMs },
    );
    const given = Date.parse(status.expirationTimestamp) - clock.now();
    const life = Number.isFinite(given) ? Math.min(given, lifeSeconds * 1000) : 0;
    onLife(began + Math.max(0, renewShare * life));
    return status.token;
  }
}

/** The name that the API server knows the caller by (SelfSubjectReview); empty: it does not say. Rejects as the transport does. */
export async function callerName(transport: Transport, options: Pick<ApiRequest, 'signal' | 'retry' | 'timeoutMs'> = {}): Promise<string> {
  const apiVersion = 'authentication.k8s.io/v1';
  const { status } = await transport.request<{ readonly status?: { readonly userInfo?: { readonly username?: string } } }>({
    ...options,
    method: 'POST',
    path: `/apis/${apiVersion}/selfsubjectreviews`,
    body: { apiVersion, kind: 'SelfSubjectReview' },
  });
  return status?.userInfo?.username ?? '';
}
