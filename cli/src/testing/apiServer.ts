import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

type Json = Record<string, unknown>;

/** One request as it came. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly body: Json;
}

function status(code: number, reason: string, message: string): { readonly code: number; readonly body: Json } {
  return { code, body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, message, code } };
}

/** As much of an API server as the tool asks for, over HTTP, with a kubeconfig that leads to it. */
export class ApiServer {
  readonly tasks = new Map<string, Json>();
  readonly pools = new Map<string, Json>();
  readonly orders = new Map<string, Json>();
  readonly seen: Seen[] = [];
  username = 'ann';
  /** Plays the operator: called at each look at an order, returns its status. */
  operator: (order: Json, looks: number) => Json | undefined = () => undefined;
  /** Plays the worker: called at each look at a task, returns its status. */
  worker: (task: Json, looks: number) => Json | undefined = () => undefined;
  /** Answers of other paths, with their query. */
  readonly others = new Map<string, Json>();
  /** Content of results, by path. */
  readonly results = new Map<string, string>();
  /** Results that do not end. */
  readonly endless = new Set<string>();
  /** Answers instead of the server when it returns something. */
  refuse: (seen: Seen) => { readonly code: number; readonly body: Json } | undefined = () => undefined;
  readonly #looks = new Map<string, number>();
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  #folder = '';

  static async start(): Promise<ApiServer> {
    const api = new ApiServer();
    await new Promise<void>((resolve) => api.#server.listen(0, '127.0.0.1', resolve));
    api.#folder = await mkdtemp(join(tmpdir(), 'fleet-cli-'));
    const cluster = { server: `http://127.0.0.1:${(api.#server.address() as AddressInfo).port}`, 'insecure-skip-tls-verify': true };
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user: { token: 'secret' } }],
      contexts: [
        { name: 'one', context: { cluster: 'c', user: 'u', namespace: 'team' } },
        { name: 'two', context: { cluster: 'c', user: 'u', namespace: 'other' } },
      ],
      'current-context': 'one',
    };
    await writeFile(api.kubeconfig, JSON.stringify(config));
    return api;
  }

  get kubeconfig(): string {
    return join(this.#folder, 'config');
  }

  addTask(name: string, parts: Json, namespace = 'team'): void {
    const metadata = { name, namespace, uid: `u-${name}`, creationTimestamp: '2030-01-01T00:00:00Z' };
    const spec = { goal: 'Make it work.', poolRef: { name: 'coding' }, profile: 'default', deadlineSeconds: 3600 };
    this.tasks.set(`${namespace}/${name}`, { apiVersion: 'agentfleet.dev/v1alpha1', kind: 'AgentTask', metadata, spec, ...parts });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
    await rm(this.#folder, { recursive: true });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const path = new URL(request.url ?? '', 'http://api').pathname;
    const seen: Seen = { method: request.method ?? '', path, body: text === '' ? {} : (JSON.parse(text) as Json) };
    this.seen.push(seen);
    const content = this.results.get(path);
    if (content !== undefined) {
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).write(content);
      return this.endless.has(path) ? undefined : void response.end();
    }
    const { code, body } =
      request.headers.authorization === 'Bearer secret'
        ? (this.refuse(seen) ?? this.#route(seen))
        : status(401, 'Unauthorized', 'Unauthorized');
    response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }

  #route({ method, path, body }: Seen): { readonly code: number; readonly body: Json } {
    const other = this.others.get(path);
    if (other !== undefined) return { code: 200, body: other };
    if (path.endsWith('/selfsubjectreviews')) return { code: 201, body: { ...body, status: { userInfo: { username: this.username } } } };
    const [, namespace, plural, name] =
      /^\/apis\/agentfleet\.dev\/v1alpha1(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?$/.exec(path) ?? [];
    const stores = new Map([
      ['agenttasks', this.tasks],
      ['agenttaskorders', this.orders],
      ['expertpools', this.pools],
    ]);
    const store = stores.get(plural ?? '');
    if (store === undefined) return status(404, 'NotFound', 'the server could not find the requested resource');
    if (method === 'POST') return this.#create(store, namespace ?? '', body);
    if (method === 'PATCH') {
      const key = `${namespace ?? ''}/${name ?? ''}`;
      store.set(key, { ...store.get(key), ...body });
      return { code: 200, body: store.get(key) ?? {} };
    }
    if (name === undefined) {
      const items = [...store].filter(([key]) => namespace === undefined || key.startsWith(`${namespace}/`)).map(([, object]) => object);
      return { code: 200, body: { kind: 'List', metadata: { resourceVersion: '1' }, items } };
    }
    const found = store.get(`${namespace ?? ''}/${name}`);
    if (found === undefined) return status(404, 'NotFound', `${plural ?? ''}.agentfleet.dev "${name}" not found`);
    if (plural === 'agenttaskorders') return { code: 200, body: this.#look(name, found, this.operator) };
    return { code: 200, body: plural === 'agenttasks' ? this.#look(name, found, this.worker) : found };
  }

  #create(store: Map<string, Json>, namespace: string, body: Json): { readonly code: number; readonly body: Json } {
    const { generateName, ...metadata } = body['metadata'] as { readonly generateName?: string; readonly name?: string };
    const name = metadata.name ?? `${generateName ?? ''}x${store.size}`;
    const object = { ...body, metadata: { ...metadata, name, namespace } };
    if (store.has(`${namespace}/${name}`)) return status(409, 'AlreadyExists', `"${name}" already exists`);
    store.set(`${namespace}/${name}`, object);
    return { code: 201, body: object };
  }

  #look(name: string, object: Json, play: (object: Json, looks: number) => Json | undefined): Json {
    const looks = (this.#looks.get(name) ?? 0) + 1;
    this.#looks.set(name, looks);
    const answer = play(object, looks);
    return answer === undefined ? object : { ...object, status: answer };
  }
}
