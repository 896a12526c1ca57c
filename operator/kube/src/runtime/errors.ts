// operator/kube, runtime: error codes of the package and the error class that carries them. Imports nothing of other folders.

/** Codes of this package. One code names one cause; callers match on it, never on the words. */
export type KubeErrorCode =
  /** A write was refused because this process may have lost its lease. */
  | 'AF_FENCED'
  /** No answer within the time limit; a write may have happened all the same. */
  | 'AF_API_TIMEOUT'
  /** The connection failed; a write may have happened all the same. */
  | 'AF_API_UNREACHABLE'
  /** The answer was not what the protocol allows. */
  | 'AF_API_MALFORMED'
  /** No usable configuration of a cluster. */
  | 'AF_KUBE_CONFIG'
  /** A cache did not fill in time. */
  | 'AF_CACHE_NOT_SYNCED'
  /** The lease was lost. */
  | 'AF_LEADERSHIP_LOST'
  /** A part of the manager failed or did not stop in time. */
  | 'AF_MANAGER'
  /** The caller stopped the work. */
  | 'AF_STOPPED';

/** The three parts of every message: what happened, where, and what the reader can do about it. */
interface KubeErrorParts {
  readonly what: string;
  readonly where: string;
  readonly cure: string;
}

/** An expected failure with a code; HTTP errors of the API server are `ApiError`. */
export class KubeError extends Error {
  readonly code: KubeErrorCode;

  constructor(code: KubeErrorCode, parts: KubeErrorParts, options?: ErrorOptions) {
    super(`${code}: ${parts.what} (${parts.where}). ${parts.cure}`, options);
    this.name = 'KubeError';
    this.code = code;
  }
}

export function isKubeError(error: unknown, code?: KubeErrorCode): error is KubeError {
  return error instanceof KubeError && (code === undefined || error.code === code);
}

/** The write was not sent, because the lease was not fresh. */
export function isFenced(error: unknown): boolean {
  return isKubeError(error, 'AF_FENCED');
}

/** Any thrown value as an Error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown), { cause: thrown });
}
