import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type KubeObject, type Resource, resourceName } from '../api/resource.ts';
import { sleep, systemClock, type Clock } from '../runtime/clock.ts';
import { plainConfig } from '../transport/kubeconfig.ts';
import type { ClusterConfig, Credentials } from '../transport/types.ts';
import { isWrite, type Fault, type FaultHook, type SeenRequest, type Verb } from './faults.ts';
import type { Json, Stored } from './json.ts';
import { builtinKinds, kindName, type KindDefinition } from './kinds.ts';
import { listAnswer } from './lists.ts';
import { Objects, type Target, type WriteContext } from './objects.ts';
import { bodyOf, parseRoute, verbOf, type Route } from './route.ts';
import { selectionOf } from './selection.ts';
import { invalid, StatusError } from './status.ts';
import type { Change } from './versions.ts';
import { WatchHub } from './watches.ts';

export interface FakeServerOptions {
  /** Custom resources. */
  readonly kinds?: readonly KindDefinition[];
  /** Between bookmarks; default 200 ms, to keep tests short. */
  readonly bookmarkMs?: number;
  /** False: refuse to stream lists. */
  readonly watchList?: boolean;
  /** Serve HTTPS with this identity; `ca` is what clients must trust. */
  readonly tls?: { readonly key: string; readonly cert: string; readonly ca: string };
  /** The Authorization that is accepted now; others get a 401. Without it everybody is. */
  readonly authorization?: () => string;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** As a real one: Node's default of 5 s ends connections in the moment in which something is sent that recurs every 5 s. */
const keepAliveMs = 90_000;

const success = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' };

interface Call {
  readonly seen: SeenRequest;
  readonly route: Route;
  readonly kind: KindDefinition;
  readonly query: URLSearchParams;
  readonly body: Json;
}

/**
 * An API server in this process, over real HTTP or HTTPS: versions, lists in pages, watches, merge patch, simplified apply,
 * status, generation, finalizers, owners, and every fault a network has. Of login it knows one token, of admission and
 * schemas what a kind defines.
 */
export class FakeApiServer {
  readonly url: string;
  readonly watches: WatchHub;
  /** Every request so far. */
  readonly requests: SeenRequest[] = [];
  /** Asked before each request; set it to break things. */
  onRequest: FaultHook | undefined;
  readonly #objects: Objects;
  readonly #server: Server;
  readonly #options: FakeServerOptions;

  constructor(server: Server, objects: Objects, options: FakeServerOptions) {
    this.#server = server;
    this.#objects = objects;
    this.#options = options;
    this.url = `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { bookmarkMs = 200, watchList = true, clock = systemClock } = options;
    this.watches = new WatchHub({ store: objects.store, clock, bookmarkMs, watchList });
    for (const kind of [...builtinKinds(), ...(options.kinds ?? [])]) this.addKind(kind);
    for (const name of ['default', 'kube-system']) this.createNamespace(name);
    server.on('request', (request, response) => void this.accept(request, response));
  }

  /** Returns the access to it; a server with login accepts the credentials that are valid at the time of the read. */
  get config(): ClusterConfig {
    const { tls, authorization } = this.#options;
    if (tls === undefined && authorization === undefined) return plainConfig(this.url);
    const credentials = (): Credentials => ({
      tls: tls === undefined ? {} : { ca: tls.ca },
      ...(authorization === undefined ? {} : { authorization: authorization() }),
    });
    return { server: this.url, credentials: () => Promise.resolve(credentials()) };
  }

  /** Requests that changed something, or tried to. */
  get writes(): readonly SeenRequest[] {
    return this.requests.filter(isWrite);
  }

  get version(): string {
    return String(this.#objects.store.version);
  }

  addKind(kind: KindDefinition): void {
    this.#objects.kinds.set(kindName(kind), kind);
  }

  /** The definition of a kind goes, and all of its objects with it; its paths answer 404 until it is added again. */
  removeKind(resource: Resource): void {
    const name = resourceName(resource);
    const kind = this.#objects.kinds.get(name);
    if (kind === undefined) return;
    for (const object of this.#objects.store.current(name).values()) this.#objects.remove(kind, object);
    this.#objects.kinds.delete(name);
    this.watches.end(name);
  }

  createNamespace(name: string): void {
    const kind = this.#objects.kinds.get('namespaces');
    if (kind) this.#objects.create(kind, undefined, { metadata: { name } }, { manager: 'fake', dryRun: false });
  }

  /** Puts an object there as it is, without a request. */
  place(resource: Resource, object: KubeObject): void {
    const kind = this.#objects.kinds.get(resourceName(resource));
    if (kind === undefined) throw new Error(`the fake server does not know ${resourceName(resource)}`);
    this.#objects.place(kind, object.metadata.namespace, object as unknown as Json);
  }

  /** The present objects of a resource, in the order of their keys. */
  objects<T extends KubeObject>(resource: Resource<T>): T[] {
    const current = this.#objects.store.current(resourceName(resource));
    return [...current.keys()].sort().map((key) => current.get(key) as unknown as T);
  }

  /** Forgets history, all or up to a version: older ones answer 410. */
  compact(version?: number): void {
    this.#objects.store.compact(version);
  }

  async close(): Promise<void> {
    this.watches.close();
    await new Promise((resolve) => {
      this.#server.close(resolve);
      this.#server.closeAllConnections();
    });
  }

  /** Reports every version of every object at once, kinds as `plural.group`; nothing that is done to watches holds it back. */
  onChange(listener: (kind: string, change: Change) => void): void {
    this.#objects.store.onChange(listener);
  }

  /** Answers one request. Public for requests that come another way than through a socket. */
  async accept(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    try {
      for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
      const { authorization } = this.#options;
      if (authorization !== undefined && request.headers.authorization !== authorization())
        throw new StatusError(401, 'Unauthorized', 'Unauthorized');
      const call = this.#read(request, text);
      this.requests.push(call.seen);
      await this.#execute(call, this.onRequest?.(call.seen), response);
    } catch (error) {
      const status = error instanceof StatusError ? error : new StatusError(500, 'InternalError', String((error as Error).stack));
      if (!response.headersSent) send(response, status.code, status.body());
      else response.destroy();
    }
  }

  #read(request: IncomingMessage, text: string): Call {
    const url = new URL(request.url ?? '/', this.url);
    const route = parseRoute(url.pathname, this.#objects.kinds);
    const kind = route === undefined ? undefined : this.#objects.kinds.get(route.resource);
    if (route === undefined || kind === undefined)
      throw new StatusError(404, 'NotFound', 'the server could not find the requested resource');
    const verb = verbOf(request.method ?? '', route, url.searchParams, request.headers['content-type'] ?? '');
    if (verb === undefined)
      throw new StatusError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource');
    const userAgent = request.headers['user-agent'] ?? '';
    const manager = url.searchParams.get('fieldManager') ?? userAgent.split('/')[0] ?? '';
    const body = bodyOf(text);
    const seen = { index: this.requests.length, verb, ...route, manager, userAgent, body };
    return { seen, route, kind, query: url.searchParams, body };
  }

  async #execute(call: Call, fault: Fault | undefined, response: ServerResponse): Promise<void> {
    if (fault?.kind === 'before') {
      response.socket?.destroy();
      return;
    }
    if (fault?.kind === 'delay') await sleep(systemClock, fault.ms);
    if (fault?.kind === 'error' && fault.executed !== true) {
      sendFault(response, fault);
      return;
    }
    if (call.seen.verb === 'watch') {
      this.watches.open(call.kind, call.route.namespace, call.query, response);
      return;
    }
    const [code, answer] = this.#answer(call);
    if (fault?.kind === 'lost-response') response.socket?.destroy();
    else if (fault?.kind === 'error') sendFault(response, fault);
    else send(response, code, answer);
  }

  #answer(call: Call): readonly [number, object] {
    const { kind, route, query, body, seen } = call;
    const context: WriteContext = { manager: seen.manager, dryRun: query.get('dryRun') === 'All' };
    const target: Target = { kind, namespace: route.namespace, name: route.name ?? '', subresource: route.subresource };
    const list = (): readonly [number, object] => [200, listAnswer(this.#objects.store, kind, route.namespace, query)];
    const answers: Readonly<Record<Verb, () => readonly [number, object]>> = {
      get: () => [200, this.#objects.find(target)],
      create: () => [
        201,
        route.subresource === '' ? this.#objects.create(kind, route.namespace, body, context) : this.#subresource(target, body),
      ],
      update: () => [200, this.#objects.update(target, body, context)],
      patch: () => [200, this.#objects.patch(target, body, context)],
      apply: () => [200, this.#apply(target, body, query, context)],
      delete: () => [200, this.#objects.delete(target, body, context) ?? success],
      deletecollection: () => [200, this.#deleteCollection(call, context)],
      list,
      watch: list,
    };
    return answers[seen.verb]();
  }

  #apply(target: Target, body: Json, query: URLSearchParams, context: WriteContext): Stored {
    if (query.get('fieldManager') === null) throw invalid('PatchOptions', '', 'fieldManager: Required value: is required for apply patch');
    return this.#objects.apply(target, body, query.get('force') === 'true', context);
  }

  #subresource(target: Target, body: Json): object {
    const handler = target.kind.subresources?.[target.subresource];
    if (handler === undefined) throw new StatusError(404, 'NotFound', 'the server could not find the requested resource');
    return handler(this.#objects.find(target), body);
  }

  #deleteCollection({ kind, route, query, body }: Call, context: WriteContext): object {
    const select = selectionOf(kind, route.namespace, query);
    for (const object of [...this.#objects.store.current(kindName(kind)).values()].filter(select)) {
      const { name, namespace } = object.metadata;
      this.#objects.delete({ kind, namespace, name, subresource: '' }, body, context);
    }
    return success;
  }
}

function send(response: ServerResponse, code: number, body: object): void {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function sendFault(response: ServerResponse, fault: Fault & { readonly kind: 'error' }): void {
  if (fault.retryAfterSeconds !== undefined) response.setHeader('retry-after', String(fault.retryAfterSeconds));
  send(response, fault.code, new StatusError(fault.code, fault.reason, fault.message ?? 'injected by the test').body());
}

/** Starts a fake API server on a free port of the loopback. */
export async function startFakeServer(options: FakeServerOptions = {}): Promise<FakeApiServer> {
  const { clock = systemClock, random = Math.random } = options;
  const server = options.tls === undefined ? createServer() : createTlsServer({ key: options.tls.key, cert: options.tls.cert });
  server.keepAliveTimeout = keepAliveMs;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return new FakeApiServer(server, new Objects(clock, random), options);
}
