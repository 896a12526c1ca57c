import { Registry } from 'prom-client';
import { counter, histogram } from '../runtime/metrics.ts';
import type { Method, ApiRequest, ApiStream, ClusterConfig, Fence, Query, Transport } from './types.ts';
import { type Log, silentLog } from '../runtime/log.ts';
import type { Dispatcher } from 'undici';
import { sleep, systemClock, type Clock, deadline, type Deadline, unlessAborted } from '../runtime/clock.ts';
import { asError, KubeError, isKubeError } from '../runtime/errors.ts';
import { apiErrorOf, isApiError, parseRetryAfter } from './apiError.ts';
import { PoolSet } from './pools.ts';
import { inService, Reachability } from './reachability.ts';

/** client-go's limit (rest/with_retry.go). */
export const maxRetries = 10;

const longestRetryAfterMs = 60_000;

/** Of node:tls, when a chain does not lead to an authority that we trust. */
const certificateCodes = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_SIGNATURE_FAILURE',
]);

/**
 * Our token is not valid any more, or the server's certificate is of an authority that we do not know yet: both rotate
 * on disk. Nothing was executed, so any verb may be sent again.
 */
export function isRefusedIdentity(error: unknown): boolean {
  if (isApiError(error)) return error.code === 401;
  const cause = isKubeError(error, 'AF_API_UNREACHABLE') ? (error.cause as { readonly code?: unknown } | undefined) : undefined;
  return typeof cause?.code === 'string' && certificateCodes.has(cause.code);
}

/**
 * Ms to wait before trying the request again, or undefined when the caller must decide.
 * 429 was never executed, so any verb may be sent again. A 5xx that names a time may be repeated when the verb is
 * idempotent; so may a GET whose connection failed. Anything else could do a write twice.
 */
export function retryDelay(error: unknown, method: Method, attempt: number): number | undefined {
  if (attempt >= maxRetries) return undefined;
  if (isApiError(error)) {
    if (error.retryAfterMs === undefined) return undefined;
    const allowed = error.code === 429 || (error.code >= 500 && method !== 'POST');
    return allowed ? Math.min(error.retryAfterMs, longestRetryAfterMs) : undefined;
  }
  if (isRefusedIdentity(error)) return undefined; // another try shows the same certificate
  if (method === 'GET' && isKubeError(error, 'AF_API_UNREACHABLE')) return Math.min(1000, 50 * 2 ** attempt);
  return undefined;
}

const budgetTokens = 100;

/**
 * Keeps retries from multiplying an overload: each costs one token, each success earns a tenth
 * (gRPC retry throttling, A6). When half of the tokens are gone, errors go to the caller at once.
 */
class RetryBudget {
  #tokens = budgetTokens;

  success(): void {
    this.#tokens = Math.min(budgetTokens, this.#tokens + 0.1);
  }

  /** Takes a token; false when the budget is spent. */
  take(): boolean {
    if (this.#tokens <= budgetTokens / 2) return false;
    this.#tokens -= 1;
    return true;
  }
}

/** Seconds; client-go's buckets (controller-runtime pkg/metrics/client_go_adapter.go, and component-base). */
const latencyBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

/**
 * rest_client_requests_total and rest_client_request_duration_seconds, under client-go's names. `code` is the HTTP status, or `<error>` when
 * there was none.
 */
function requestMetrics(registry: Registry, host: string): (method: Method, code: string, seconds: number) => void {
  const total = counter(registry, {
    name: 'rest_client_requests_total',
    help: 'Number of HTTP requests, partitioned by status code, method, and host.',
    labelNames: ['code', 'method', 'host'],
  });
  const duration = histogram(registry, {
    name: 'rest_client_request_duration_seconds',
    help: 'Request latency in seconds. Broken down by verb, and host.',
    labelNames: ['verb', 'host'],
    buckets: latencyBuckets,
  });
  return (method, code, seconds) => {
    total.inc({ code, method, host });
    duration.observe({ verb: method, host }, seconds);
  };
}

/** `299 - "text"` (RFC 7234 §5.5; KEP-1693). */
const warningForm = /(?:^|,\s*)299 \S+ "((?:[^"\\]|\\.)*)"/g;

const mostRemembered = 1000;

/** Logs each warning of the server once; what was said is remembered up to a limit. */
export class WarningLog {
  readonly #log: Log;
  readonly #seen = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  read(header: string | string[] | undefined): void {
    if (header === undefined) return;
    for (const line of typeof header === 'string' ? [header] : header) {
      for (const [, text = ''] of line.matchAll(warningForm)) this.#say(text.replaceAll(/\\(.)/g, '$1'));
    }
  }

  #say(text: string): void {
    if (this.#seen.has(text) || this.#seen.size >= mostRemembered) return;
    this.#seen.add(text);
    this.#log.warn('the API server warns', { warning: text });
  }
}

export interface TransportOptions {
  /** `<binary>/<version> (<os>/<arch>) <component>/<commit>`. */
  readonly userAgent: string;
  /** Most connections for requests, apart from watches. Default 16. */
  readonly connections?: number;
  readonly registry?: Registry | undefined;
  readonly clock?: Clock;
  readonly log?: Log;
}

const defaultTimeoutMs = 30_000;

/** Open to every client of a cluster (ClusterRole system:public-info-viewer). */
const readyPath = '/readyz';
const readyTimeoutMs = 2000;

function searchOf(query: Query | undefined): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) search.set(name, String(value));
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

class HttpTransport implements Transport {
  readonly host: string;
  readonly reachability: Reachability;
  readonly #origin: string;
  readonly #prefix: string;
  readonly #pools: PoolSet;
  readonly #clock: Clock;
  readonly #userAgent: string;
  readonly #observe: ReturnType<typeof requestMetrics>;
  readonly #warnings: WarningLog;
  readonly #budget = new RetryBudget();

  constructor(config: ClusterConfig, options: TransportOptions) {
    const url = new URL(config.server);
    this.host = url.host;
    this.#origin = url.origin;
    this.#prefix = url.pathname.replace(/\/$/, '');
    this.#clock = options.clock ?? systemClock;
    this.#pools = new PoolSet(config, this.#clock, options.connections ?? 16);
    this.#userAgent = options.userAgent;
    this.#observe = requestMetrics(options.registry ?? new Registry(), this.host);
    this.#warnings = new WarningLog(options.log ?? silentLog);
    this.reachability = new Reachability({ clock: this.#clock, random: Math.random, probe: (signal) => this.#ready(signal) });
  }

  request<T>(request: ApiRequest): Promise<T> {
    return this.#repeat(request, async (response) => {
      const text = await response.body.text();
      if (text === '') return undefined as T;
      try {
        return JSON.parse(text) as T;
      } catch (error) {
        const where = `${request.method} ${request.path}`;
        throw new KubeError(
          'AF_API_MALFORMED',
          { what: 'the answer is not JSON', where, cure: 'Check what stands between us and the server' },
          { cause: error },
        );
      }
    });
  }

  stream(request: ApiRequest): Promise<ApiStream> {
    return this.#repeat(request, (response) => {
      const { body } = response;
      body.on('error', () => {}); // closing an unread stream emits an abort without a reader
      const close = (): void => void body.destroy();
      request.signal?.addEventListener('abort', close, { once: true });
      body.once('close', () => request.signal?.removeEventListener('abort', close));
      return Promise.resolve({ body, close });
    });
  }

  close(): Promise<void> {
    return this.#pools.close();
  }

  async #ready(signal: AbortSignal): Promise<boolean> {
    try {
      await this.request({ method: 'GET', path: readyPath, timeoutMs: readyTimeoutMs, retry: false, signal });
      return true;
    } catch (error) {
      return inService(error);
    }
  }

  async #repeat<T>(request: ApiRequest, read: (response: Dispatcher.ResponseData) => Promise<T>): Promise<T> {
    let refreshed = false;
    for (let attempt = 0; ; attempt += 1) {
      try {
        const result = await this.#attempt(request, read, refreshed);
        this.#budget.success();
        return result;
      } catch (error) {
        if (!refreshed && isRefusedIdentity(error)) {
          refreshed = true;
          continue;
        }
        const delay = request.retry === false ? undefined : retryDelay(error, request.method, attempt);
        if (delay === undefined || !this.#budget.take()) throw error;
        if (!(await sleep(this.#clock, delay, request.signal))) throw error;
      }
    }
  }

  async #attempt<T>(request: ApiRequest, read: (response: Dispatcher.ResponseData) => Promise<T>, force: boolean): Promise<T> {
    const { pool, authorization } = await this.#take(request, force);
    const limit = deadline(this.#clock, this.#allowedMs(request), request.signal);
    const begin = this.#clock.monotonic();
    let code = '<error>';
    try {
      const answer = pool.request({
        origin: this.#origin,
        method: request.method,
        path: `${this.#prefix}${request.path}${searchOf(request.query)}`,
        headers: this.#headers(request, authorization),
        body: request.body === undefined ? null : JSON.stringify(request.body),
        signal: limit.signal,
      });
      // A request that waits for a connection hears of an abort from undici only when its turn comes, and is not sent then.
      const response = await unlessAborted(answer, limit.signal);
      code = String(response.statusCode);
      this.#warnings.read(response.headers['warning']);
      if (response.statusCode >= 400) throw await this.#failure(request, response);
      return await read(response);
    } catch (error) {
      throw explain(error, request, limit, this.host);
    } finally {
      // From here on a stream lives as long as its reader wants.
      limit.dispose();
      this.#observe(request.method, code, (this.#clock.monotonic() - begin) / 1000);
    }
  }

  async #take(request: ApiRequest, force: boolean): ReturnType<PoolSet['take']> {
    if (request.signal?.aborted) throw stopped(request);
    try {
      return await this.#pools.take(request.lane ?? 'request', force);
    } catch (error) {
      const where = `credentials for ${this.host}`;
      const cure = 'Check kubeconfig, token file and plugin';
      throw new KubeError('AF_KUBE_CONFIG', { what: asError(error).message, where, cure }, { cause: error });
    }
  }

  /** Checked before each attempt: a retry after a long wait must not slip past the fence. */
  #allowedMs(request: ApiRequest): number {
    const timeout = request.timeoutMs ?? defaultTimeoutMs;
    if (request.fence === undefined) return timeout;
    const remaining = request.fence.remainingMs();
    if (remaining > 0) return Math.min(timeout, remaining);
    const where = `${request.method} ${request.path}`;
    throw new KubeError('AF_FENCED', { what: 'the lease is not fresh', where, cure: 'Nothing to do: the leader does this write' });
  }

  #headers(request: ApiRequest, authorization: string | undefined): Record<string, string> {
    return {
      accept: request.accept ?? 'application/json',
      'user-agent': this.#userAgent,
      ...(authorization === undefined ? {} : { authorization }),
      ...(request.body === undefined ? {} : { 'content-type': request.contentType ?? 'application/json' }),
    };
  }

  async #failure(request: ApiRequest, response: Dispatcher.ResponseData): Promise<Error> {
    const text = await response.body.text();
    const wait = parseRetryAfter(single(response.headers['retry-after']), this.#clock.now());
    return apiErrorOf(response.statusCode, text, `${request.method} ${request.path}`, wait);
  }
}

function stopped(request: ApiRequest): KubeError {
  return new KubeError('AF_STOPPED', { what: 'the caller stopped it', where: `${request.method} ${request.path}`, cure: 'Nothing to do' });
}

function explain(error: unknown, request: ApiRequest, limit: Deadline, host: string): Error {
  if (isApiError(error) || error instanceof KubeError) return error;
  const where = `${request.method} ${host}${request.path}`;
  if (limit.expired()) {
    return new KubeError(
      'AF_API_TIMEOUT',
      { what: 'no answer in time', where, cure: 'Read the object before repeating a write' },
      { cause: error },
    );
  }
  if (request.signal?.aborted) return stopped(request);
  const cause = asError(error);
  return new KubeError('AF_API_UNREACHABLE', { what: cause.message, where, cure: 'Check that the API server is up' }, { cause });
}

/** Opens nothing yet; connections are made by the first request. */
export function createTransport(config: ClusterConfig, options: TransportOptions): Transport {
  return new HttpTransport(config, options);
}

/**
 * The same transport, which refuses every write with AF_FENCED while the fence is down, and gives each write no more
 * time than the lease has left. It narrows the window of two writers, it does not close it: a write that was aborted
 * may still commit, so decisions that cannot be repeated carry a precondition or a deterministic name as well.
 */
export function fencedTransport(transport: Transport, fence: Fence): Transport {
  const guard = (request: ApiRequest): ApiRequest => (request.method === 'GET' ? request : { ...request, fence });
  return {
    host: transport.host,
    reachability: transport.reachability,
    request: (request) => transport.request(guard(request)),
    stream: (request) => transport.stream(guard(request)),
    close: () => transport.close(),
  };
}
