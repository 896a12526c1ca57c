// operator/kube, transport: errors that the API server answers, and tests of their kind. May import api and runtime alone.

/** `metav1.Status` of a failure, the parts that we read. */
export interface StatusBody {
  readonly kind?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly code?: number;
  readonly metadata?: { readonly continue?: string };
  readonly details?: {
    readonly retryAfterSeconds?: number;
    readonly causes?: readonly { readonly reason?: string }[];
  };
}

const retryableCodes = new Set([408, 425, 429, 500, 502, 503, 504]);

/** An error that the API server answered. `code` is the HTTP status, `reason` one word such as `Conflict`. */
export class ApiError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: StatusBody['details'];
  /** Of a 410 to a page of a list: the token by which the rest is read as it is now. */
  readonly continueToken: string | undefined;
  /** Time for which the server asked clients to stay away, ms. */
  readonly retryAfterMs: number | undefined;

  constructor(code: number, status: StatusBody, request: string, retryAfterMs?: number) {
    super(`${request}: ${code} ${status.reason ?? 'Unknown'}: ${(status.message ?? '').slice(0, 1024).toWellFormed()}`);
    this.name = 'ApiError';
    this.code = code;
    this.reason = status.reason ?? 'Unknown';
    this.details = status.details;
    this.continueToken = status.metadata?.continue || undefined;
    this.retryAfterMs =
      retryAfterMs ?? (status.details?.retryAfterSeconds === undefined ? undefined : status.details.retryAfterSeconds * 1000);
  }

  /** True when the same request may succeed later without anybody changing it. A conflict needs a fresh read and is not. */
  get retryable(): boolean {
    return retryableCodes.has(this.code) && !isTooLarge(this);
  }
}

export function isApiError(error: unknown): error is ApiError {
  return error instanceof ApiError;
}

const has = (error: unknown, code: number, ...reasons: readonly string[]): boolean =>
  isApiError(error) && (reasons.length === 0 ? error.code === code : reasons.includes(error.reason));

export const isNotFound = (error: unknown): boolean => has(error, 404);
export const isInvalid = (error: unknown): boolean => has(error, 422);
/** A precondition failed, or another manager owns an applied field. */
export const isConflict = (error: unknown): boolean => has(error, 409, 'Conflict');
export const isAlreadyExists = (error: unknown): boolean => has(error, 409, 'AlreadyExists');
/** The server does not take what was sent, and will not take it the next time either. */
export const isRefused = (error: unknown): error is ApiError => isApiError(error) && [400, 403, 404, 422].includes(error.code);
/** An admission webhook did not answer, so that nothing was stored; it has no reason of its own. */
export const isWebhookFailure = (error: unknown): error is ApiError =>
  has(error, 500) && (error as ApiError).message.includes('failed calling webhook');
/** The resource version is compacted: list again. Reason `Expired` or, in watches of old servers, `Gone`. */
export const isGone = (error: unknown): boolean => has(error, 410) || has(error, 410, 'Expired', 'Gone');
/** The object is larger than the storage takes: etcd reports it behind a 500 without a reason, the server itself by a 413. */
export const isTooLarge = (error: unknown): boolean =>
  has(error, 413) || (has(error, 500) && (error as ApiError).message.includes('etcdserver: request is too large'));
/** A replica that lags behind the version we asked for (`Timeout` with cause ResourceVersionTooLarge). */
export const isVersionTooLarge = (error: unknown): boolean =>
  isApiError(error) && (error.details?.causes?.some((cause) => cause.reason === 'ResourceVersionTooLarge') ?? false);

/** Seconds or an HTTP date, as `Retry-After` allows (RFC 9110 §10.2.3), to ms from `now`. */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined || header.trim() === '') return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** The error of a body that may be a Status, text of a proxy, or nothing. */
export function apiErrorOf(code: number, body: string, request: string, retryAfterMs?: number): ApiError {
  let status: StatusBody;
  try {
    const parsed = JSON.parse(body) as StatusBody | null;
    status = parsed?.kind === 'Status' ? parsed : { message: body };
  } catch {
    status = { message: body };
  }
  return new ApiError(code, status, request, retryAfterMs);
}
