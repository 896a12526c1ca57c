import { isApiError } from './apiError.ts';
import { isKubeError } from '../runtime/errors.ts';
import type { Method } from './types.ts';

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

/**
 * Keeps retries from multiplying an overload: each costs one token, each success earns a tenth
 * (gRPC retry throttling, A6). When half of the tokens are gone, errors go to the caller at once.
 */
export class RetryBudget {
  readonly #capacity: number;
  #tokens: number;

  constructor(capacity = 100) {
    this.#capacity = capacity;
    this.#tokens = capacity;
  }

  success(): void {
    this.#tokens = Math.min(this.#capacity, this.#tokens + 0.1);
  }

  /** Takes a token; false when the budget is spent. */
  take(): boolean {
    if (this.#tokens <= this.#capacity / 2) {
      return false;
    }
    this.#tokens -= 1;
    return true;
  }
}
