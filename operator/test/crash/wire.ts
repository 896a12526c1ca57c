import { apiErrorOf, deadline, KubeError, type ApiRequest, type ApiStream, type Clock, type Transport } from '@agentfleet/kube';
import type { FakeApiServer } from '@agentfleet/kube/testing';
import { ask, follow } from './socketless.ts';

/** Injection of a write: it is not sent, it takes effect and its answer is lost, or it takes effect and an error is answered. */
export type Injection = 'never sent' | 'answer lost' | 'error after commit';

/** Lines of watches on their way to a cache. */
export interface Tap {
  /** Version of which the first list of a resource is, when it is not the newest. */
  readonly firstVersion?: (path: string) => string | undefined;
  /** Passes a line on, now or later. */
  readonly line: (path: string, line: string, deliver: (line: string) => void) => void;
}

export interface WireOptions {
  readonly server: FakeApiServer;
  readonly clock: Clock;
  readonly userAgent: string;
  /** Asked before each request; may end the life of the wire. */
  readonly injection?: (request: ApiRequest) => Injection | undefined;
  /** Waited for before a request is sent and before its answer is read. */
  readonly turn?: (request: ApiRequest, what: 'send' | 'read') => Promise<unknown>;
  readonly tap?: Tap;
}

const broken = (request: ApiRequest, what: string): KubeError =>
  new KubeError('AF_API_UNREACHABLE', { what, where: `${request.method} ${request.path}`, cure: 'Nothing to do: the test wants it' });

/** Reports whether a request changes something. */
export const writes = ({ method }: ApiRequest): boolean => method !== 'GET';

/** A process's way to the fake server, without sockets: only what tests decide about comes between. When cut, nothing passes any more. */
export class Wire implements Transport {
  readonly host = 'fake';
  /** Requests without an answer yet, watches apart. */
  inFlight = 0;
  readonly #options: WireOptions;
  readonly #streams = new Set<() => void>();
  #cut = false;

  constructor(options: WireOptions) {
    this.#options = options;
  }

  get isCut(): boolean {
    return this.#cut;
  }

  /** The process is dead: what it sends or hears from here on is nothing. */
  cut(): void {
    this.#cut = true;
    for (const close of this.#streams) close();
  }

  async request<T>(request: ApiRequest): Promise<T> {
    const { server, turn, injection, userAgent } = this.#options;
    this.inFlight += 1;
    try {
      await turn?.(request, 'send');
      this.#check(request);
      const becomes = injection?.(request);
      if (becomes === 'never sent') throw broken(request, 'the process died before it was sent');
      const { code, text } = await ask(server, request, userAgent);
      if (becomes === 'answer lost') throw broken(request, 'the process died before the answer');
      await turn?.(request, 'read');
      if (this.#cut || code === 0) throw broken(request, 'the connection broke');
      if (becomes === 'error after commit') throw apiErrorOf(500, 'injected by the test', `${request.method} ${request.path}`);
      if (code >= 400) throw apiErrorOf(code, text, `${request.method} ${request.path}`);
      return (text === '' ? undefined : JSON.parse(text)) as T;
    } finally {
      this.inFlight -= 1;
    }
  }

  async stream(request: ApiRequest): Promise<ApiStream> {
    this.#check(request);
    const { server, tap, userAgent } = this.#options;
    const version = request.query?.['sendInitialEvents'] === true ? tap?.firstVersion?.(request.path) : undefined;
    const first = version === undefined ? [] : await this.#snapshot(request, version);
    const { code, lines, text, close } = await follow(server, version === undefined ? request : after(request, version), userAgent);
    if (code >= 400 || code === 0) throw apiErrorOf(code, text(), `${request.method} ${request.path}`);
    const end = (): void => {
      close();
      this.#streams.delete(end);
    };
    this.#streams.add(end);
    return { body: this.#body(request.path, first, lines), close: end };
  }

  close(): Promise<void> {
    this.cut();
    return Promise.resolve();
  }

  /** As the real transport: nothing leaves after the caller's stop, and no write while the fence is down. */
  #check(request: ApiRequest): void {
    const where = `${request.method} ${request.path}`;
    if (request.signal?.aborted === true)
      throw new KubeError('AF_STOPPED', { what: 'the caller stopped it', where, cure: 'Nothing to do' });
    if (this.#cut) throw broken(request, 'the process is dead');
    if (request.fence !== undefined && request.fence.remainingMs() <= 0)
      throw new KubeError('AF_FENCED', { what: 'the lease is not fresh', where, cure: 'Nothing to do: the leader does this write' });
  }

  /** The state at a version, as the events that a streamed list begins with. */
  async #snapshot(request: ApiRequest, version: string): Promise<readonly string[]> {
    const { labelSelector, fieldSelector } = request.query ?? {};
    const query = { labelSelector, fieldSelector, resourceVersion: version, resourceVersionMatch: 'Exact' };
    const { text } = await ask(this.#options.server, { method: 'GET', path: request.path, query }, this.#options.userAgent);
    const { items = [] } = JSON.parse(text) as { items?: readonly object[] };
    const metadata = { resourceVersion: version, annotations: { 'k8s.io/initial-events-end': 'true' } };
    const events = [...items.map((object) => ({ type: 'ADDED', object })), { type: 'BOOKMARK', object: { metadata } }];
    return events.map((event) => `${JSON.stringify(event)}\n`);
  }

  async *#body(path: string, first: readonly string[], lines: AsyncGenerator<string>): AsyncGenerator<Uint8Array> {
    const { tap } = this.#options;
    for (const line of first) yield Buffer.from(line);
    if (tap === undefined) {
      for await (const line of lines) if (!this.#cut) yield Buffer.from(line);
      return;
    }
    const ready: string[] = [];
    let wake: (() => void) | undefined;
    let over = false;
    const deliver = (line: string): void => {
      ready.push(line);
      wake?.();
    };
    void (async () => {
      for await (const line of lines) tap.line(path, line, deliver);
      over = true;
      wake?.();
    })();
    while (!this.#cut) {
      for (let next = ready.shift(); next !== undefined; next = ready.shift()) yield Buffer.from(next);
      if (over) return;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  }
}

function after(request: ApiRequest, version: string): ApiRequest {
  const { sendInitialEvents: _, resourceVersionMatch: __, ...query } = request.query ?? {};
  return { ...request, query: { ...query, resourceVersion: version } };
}

/** A request that is given up when its time is over: for callers that wait on a server that does not answer. */
export function withTimeouts(wire: Wire, clock: Clock): Transport {
  return {
    host: wire.host,
    stream: (request) => wire.stream(request),
    close: () => wire.close(),
    request: async <T>(request: ApiRequest): Promise<T> => {
      const fence = request.fence?.remainingMs() ?? Infinity;
      const limit = deadline(clock, Math.min(request.timeoutMs ?? 30_000, Math.max(0, fence)), request.signal);
      const late = new Promise<never>((_, reject) => {
        const where = `${request.method} ${request.path}`;
        const give = (): void =>
          reject(new KubeError('AF_API_TIMEOUT', { what: 'no answer in time', where, cure: 'Read before repeating' }));
        limit.signal.addEventListener('abort', give, { once: true });
      });
      try {
        return await Promise.race([wire.request<T>(request), late]);
      } finally {
        limit.dispose();
      }
    },
  };
}
