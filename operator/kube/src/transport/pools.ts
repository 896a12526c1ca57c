import { createHash } from 'node:crypto';
import { type Dispatcher, Pool, ProxyAgent } from 'undici';
import type { Clock } from '../runtime/clock.ts';
import type { ClusterConfig, Credentials, Lane, TlsIdentity } from './types.ts';

/** Files are read again this often; the kubelet replaces a token well before it ends. */
const rereadMs = 60_000;
const rereadAfterFailureMs = 10_000;
/** Connections are renewed so that load spreads over API servers after one of them came back. */
const connectionTtlMs = 300_000;

type Pools = Readonly<Record<Lane, Dispatcher>>;

function identityHash(tls: TlsIdentity): string {
  const hash = createHash('sha256');
  for (const part of [tls.ca, tls.cert, tls.key, tls.servername, String(tls.rejectUnauthorized)]) hash.update(part ?? '').update('\0');
  return hash.digest('base64');
}

interface Way {
  readonly origin: string;
  readonly proxy: string | undefined;
  readonly tls: TlsIdentity;
}

function openPools({ origin, proxy, tls }: Way, most: number): Pools {
  const connect = { ...tls, timeout: 10_000, keepAlive: true };
  // HTTP/1.1 on a pool is as fast as HTTP/2 and spreads over servers.
  const shared = { allowH2: false, keepAliveTimeout: 30_000, headersTimeout: 0, bodyTimeout: 0 };
  const open = (more: Pool.Options): Dispatcher =>
    proxy === undefined
      ? new Pool(origin, { ...shared, ...more, connect })
      : new ProxyAgent({ ...shared, ...more, uri: proxy, requestTls: connect });
  const limited = (connections: number): Dispatcher => open({ connections, clientTtl: connectionTtlMs });
  return {
    request: limited(most),
    lease: limited(1),
    // One socket for each watch, without limit; a quiet watch must not be cut by a body timeout.
    watch: open({}),
  };
}

/** The connections to one cluster; opened again when certificates on disk have changed. */
export class PoolSet {
  readonly #config: ClusterConfig;
  readonly #clock: Clock;
  readonly #connections: number;
  #origin: string;
  #pools: Pools | undefined;
  #identity = '';
  #credentials: Credentials | undefined;
  #readAt = -Infinity;
  #reading: Promise<void> | undefined;
  #closed = false;

  /** `connections`: most of them for requests. */
  constructor(config: ClusterConfig, clock: Clock, connections: number) {
    this.#config = config;
    this.#clock = clock;
    this.#connections = connections;
    this.#origin = new URL(config.server).origin;
  }

  /** The pool of a lane and the Authorization to send. `force` reads credentials now: the server refused the old ones. */
  async take(lane: Lane, force = false): Promise<{ readonly pool: Dispatcher; readonly authorization: string | undefined }> {
    if (force || this.#clock.monotonic() - this.#readAt >= rereadMs) {
      this.#reading ??= this.#read(force).finally(() => (this.#reading = undefined));
      await this.#reading;
    }
    if (this.#pools === undefined || this.#closed) throw new Error('transport is closed');
    return { pool: this.#pools[lane], authorization: this.#credentials?.authorization };
  }

  async #read(force: boolean): Promise<void> {
    try {
      this.#credentials = await this.#config.credentials(force);
      this.#readAt = this.#clock.monotonic();
    } catch (error) {
      // A file that is being replaced, a plugin that fails for a moment: what we have is good until the server refuses it.
      if (force || this.#credentials === undefined) throw error;
      this.#readAt = this.#clock.monotonic() - rereadMs + rereadAfterFailureMs;
      return;
    }
    const identity = identityHash(this.#credentials.tls);
    if (this.#closed || (this.#pools !== undefined && identity === this.#identity)) return;
    const old = this.#pools;
    this.#pools = openPools({ origin: this.#origin, proxy: this.#config.proxy, tls: this.#credentials.tls }, this.#connections);
    this.#identity = identity;
    // Requests in flight end on the old connections; its watches end by their own time limit.
    if (old) for (const pool of Object.values(old)) void pool.close().catch(() => {});
  }

  async close(): Promise<void> {
    this.#closed = true;
    const pools = this.#pools;
    if (pools === undefined) return;
    await Promise.all([pools.request.close(), pools.lease.close(), pools.watch.destroy()]);
  }
}
