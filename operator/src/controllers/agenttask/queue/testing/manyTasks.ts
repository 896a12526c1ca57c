import { ApiError, type ApiRequest, type ApiStream, type Transport } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import { briefKey, labels } from '@agentfleet/protocol/pool';
import { briefName, workerServiceAccount } from '../../../../pools/names.ts';
import { jwksConfigMap } from '../../sandbox/pod.ts';
import { newPool, newTask } from '../../testing/objects.ts';

type Raw = Readonly<Record<string, unknown>>;

/** Objects of one line of a stream at a time would be one wake-up each. */
const linesPerChunk = 200;

/** One watch that stays open: what is there, and what is pushed. */
class Feed {
  readonly #initial: () => Iterable<Raw>;
  readonly #version: () => number;
  readonly #lines: string[] = [];
  #wake: () => void = () => {};
  #open = true;

  constructor(initial: () => Iterable<Raw>, version: () => number) {
    this.#initial = initial;
    this.#version = version;
  }

  push(type: string, object: Raw): void {
    this.#lines.push(JSON.stringify({ type, object }));
    this.#wake();
  }

  close(): void {
    this.#open = false;
    this.#wake();
  }

  async *body(): AsyncGenerator<Uint8Array> {
    let chunk: string[] = [];
    for (const object of this.#initial()) {
      chunk.push(JSON.stringify({ type: 'ADDED', object }));
      if (chunk.length < linesPerChunk) continue;
      yield Buffer.from(`${chunk.join('\n')}\n`);
      chunk = [];
    }
    const annotations = { 'k8s.io/initial-events-end': 'true' };
    const bookmark = { type: 'BOOKMARK', object: { metadata: { resourceVersion: String(this.#version()), annotations } } };
    yield Buffer.from(`${[...chunk, JSON.stringify(bookmark)].join('\n')}\n`);
    while (this.#open) {
      const lines = this.#lines.splice(0);
      if (lines.length > 0) yield Buffer.from(`${lines.join('\n')}\n`);
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

export interface ManyTasksOptions {
  readonly count: number;
  /** Namespace of a task by its number. */
  readonly namespaceOf: (at: number) => string;
  readonly namespaces: readonly string[];
  readonly pool?: Parameters<typeof newPool>[0];
  readonly status?: (at: number) => AgentTask['status'];
  readonly spec?: (at: number) => Raw;
}

/**
 * An API server in memory that makes up as many tasks as asked for while they are streamed, holds none of them, and takes
 * every write. One worker of platform/coding lives for ever, and all namespaces are prepared.
 */
export class ManyTasks implements Transport {
  readonly host = 'memory';
  /** Writes by kind, such as `PATCH agenttasks/status`. */
  readonly writes = new Map<string, number>();
  /** The last version that was informed of a kind, for caches that are waited for. */
  readonly reported = new Map<string, string>();
  readonly #options: ManyTasksOptions;
  readonly #feeds = new Map<string, Feed>();
  readonly #base: AgentTask;
  #version = 1;

  constructor(options: ManyTasksOptions) {
    this.#options = options;
    this.#base = newTask('many');
  }

  /** The task of a number before any decision about it. */
  task(at: number): AgentTask {
    const { namespaceOf, status, spec } = this.#options;
    const name = `t-${String(at).padStart(7, '0')}`;
    const uid = `uid-${at}`;
    const creationTimestamp = '2030-01-01T00:00:00Z';
    const metadata = { name, namespace: namespaceOf(at), uid, creationTimestamp, generation: 1, resourceVersion: '1' };
    const reported = status?.(at);
    return {
      ...this.#base,
      metadata,
      spec: { ...this.#base.spec, ...spec?.(at) },
      ...(reported === undefined ? {} : { status: reported }),
    };
  }

  /** Deletes a task. */
  remove(task: AgentTask): void {
    this.#tell('agenttasks', 'DELETED', task as unknown as Raw);
  }

  request<T>({ method, path, body }: ApiRequest): Promise<T> {
    if (method === 'GET') {
      if (path.endsWith('/agenttasks')) return Promise.resolve({ metadata: { resourceVersion: '1' }, items: [] } as T);
      return Promise.reject(new ApiError(404, { reason: 'NotFound' }, path));
    }
    const [, namespace = '', plural = '', name = ''] = /\/namespaces\/([^/]+)\/([^/]+)(?:\/([^/]+))?/.exec(path) ?? [];
    const kind = `${method} ${plural}${path.endsWith('/status') ? '/status' : ''}`;
    this.writes.set(kind, (this.writes.get(kind) ?? 0) + 1);
    const sent = body as Raw & { readonly metadata?: Raw };
    const before: Raw & { readonly metadata?: unknown } = plural === 'agenttasks' ? { ...this.task(Number(name.slice(2))) } : {};
    const metadata = { ...(before.metadata as Raw | undefined), ...sent.metadata, namespace, uid: `uid-of-${name}` };
    const uid = plural === 'agenttasks' ? { uid: `uid-${Number(name.slice(2))}` } : {};
    const object = { ...before, ...sent, metadata: { ...metadata, ...uid } };
    return Promise.resolve(this.#tell(plural, method === 'POST' ? 'ADDED' : 'MODIFIED', object) as T);
  }

  stream({ path, query }: ApiRequest): Promise<ApiStream> {
    const plural = path.split('/').at(-1) ?? '';
    const streamed = query?.['sendInitialEvents'] === true;
    const feed = new Feed(streamed ? () => this.#present(plural) : () => [], () => this.#version);
    this.#feeds.set(plural, feed);
    return Promise.resolve({ body: feed.body(), close: () => feed.close() });
  }

  close(): Promise<void> {
    for (const feed of this.#feeds.values()) feed.close();
    return Promise.resolve();
  }

  #tell(plural: string, type: string, object: Raw): Raw {
    const fresh = { ...object, metadata: { ...(object['metadata'] as Raw), resourceVersion: String((this.#version += 1)) } };
    this.#feeds.get(plural)?.push(type, fresh);
    this.reported.set(plural, String(this.#version));
    return fresh;
  }

  *#present(plural: string): Generator<Raw> {
    const { count, namespaces, pool } = this.#options;
    const meta = (name: string, namespace?: string, own: Raw = {}): Raw => ({
      metadata: {
        name,
        ...(namespace === undefined ? {} : { namespace }),
        uid: `${plural}-${namespace ?? ''}-${name}`,
        resourceVersion: '1',
        ...own,
      },
    });
    const ours = { labels: { [labels.component]: 'worker', [labels.pool]: 'coding' } };
    if (plural === 'agenttasks') for (let at = 0; at < count; at += 1) yield this.task(at) as unknown as Raw;
    if (plural === 'expertpools') yield { ...newPool(pool), ...meta('coding', 'platform', { generation: 1 }) };
    if (plural === 'namespaces') for (const name of ['platform', ...namespaces]) yield meta(name);
    if (plural === 'configmaps') {
      yield { ...meta(briefName('coding'), 'platform', ours), data: { [briefKey]: JSON.stringify({ namespaces }) } };
      for (const namespace of namespaces) yield { ...meta(jwksConfigMap, namespace, ours), data: {} };
    }
    if (plural === 'pods')
      yield {
        ...meta('w-1', 'platform', ours),
        spec: { serviceAccountName: workerServiceAccount('coding') },
        status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
      };
    if (plural === 'leases')
      yield { ...meta('w-1', 'platform', ours), spec: { holderIdentity: 'w-1', renewTime: '2030-01-01T00:00:59.000000Z' } };
  }
}
