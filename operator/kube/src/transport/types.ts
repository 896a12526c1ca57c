// operator/kube, transport: types of requests, streams, transports, fences and credentials. May import api and runtime alone.
import type { Reachability } from './reachability.ts';

/** Whether writes may start now. A number of ms for which they may run, or ≤ 0 when they must not. */
export interface Fence {
  remainingMs(): number;
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Connections that carry it: a burst of requests must not delay watches or the renewal of the lease. */
export type Lane = 'request' | 'watch' | 'lease';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface ApiRequest {
  readonly method: Method;
  readonly path: string;
  readonly query?: Query;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Default `application/json`. */
  readonly contentType?: string;
  readonly accept?: string;
  readonly lane?: Lane;
  /** Whole answer, ms; default 30 s. Every attempt has its own. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** False: what fails is reported at once, for callers that have a rule of their own. Default true. */
  readonly retry?: boolean;
  /** Set by the fenced transport on writes. */
  readonly fence?: Fence;
}

export interface ApiStream {
  readonly body: AsyncIterable<Uint8Array>;
  /** Ends the stream and frees its connection. */
  close(): void;
}

/** The way to one API server. */
export interface Transport {
  /** Host and port, a metric label. */
  readonly host: string;
  /** Common wait of all users of this transport while the server does not answer. */
  readonly reachability?: Pick<Reachability, 'answered'> | undefined;
  /** The parsed body. Rejects with ApiError, or KubeError AF_API_TIMEOUT, AF_API_UNREACHABLE, AF_API_MALFORMED, AF_FENCED, AF_STOPPED. */
  request<T>(request: ApiRequest): Promise<T>;
  /** An answer without end; the time limit covers its headers only, the signal all of it: reading rejects when it is aborted. */
  stream(request: ApiRequest): Promise<ApiStream>;
  /** Waits for requests in flight, then closes all connections. */
  close(): Promise<void>;
}

export interface TlsIdentity {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

export interface Credentials {
  readonly tls: TlsIdentity;
  /** Value of the Authorization header. */
  readonly authorization?: string;
}

/** Address of a cluster and identity of this process there. */
export interface ClusterConfig {
  /** Origin, and a path when behind a proxy. */
  readonly server: string;
  /** URL of an http, https or socks5 proxy to the server; default: none. */
  readonly proxy?: string;
  /** The namespace of the context or pod. */
  readonly namespace?: string;
  /** Read again from their files at every call; `force` also drops what a plugin remembers. */
  credentials(force: boolean): Promise<Credentials>;
}
