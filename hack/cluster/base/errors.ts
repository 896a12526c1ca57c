// hack, cluster/base: error codes of the cluster scripts. Of other folders imports hack/cache only.

/** Codes of the cluster scripts. One code names one cause; tests and callers match on it, never on the words. */
export type ClusterErrorCode =
  | 'AF_NOT_ROOT'
  | 'AF_UNSUPPORTED_OS'
  | 'AF_UNSUPPORTED_ARCH'
  | 'AF_PORT_TAKEN'
  | 'AF_DISK_FULL'
  | 'AF_GO_MISSING'
  | 'AF_GO_TOO_OLD'
  | 'AF_FOREIGN_KUBELET'
  | 'AF_NO_ADDRESS'
  | 'AF_PACKAGES_FAILED'
  | 'AF_BUILD_FAILED'
  | 'AF_BINARY_UNKNOWN'
  | 'AF_DAEMON_DIED'
  | 'AF_TIMEOUT'
  | 'AF_LOCKED'
  | 'AF_LEFTOVERS'
  | 'AF_CACHE_SHARED'
  | 'AF_CONTEXT_UNREACHABLE'
  | 'AF_IMPORT_UNSUPPORTED'
  | 'AF_USAGE'
  | 'AF_VERIFY_FAILED';

/** The three parts of every message: the fault, the place, and the cure. */
interface ClusterErrorParts {
  readonly what: string;
  readonly where: string;
  readonly cure: string;
}

/** An expected failure with a code. Any other thrown value is a defect of this program. */
export class ClusterError extends Error {
  readonly code: ClusterErrorCode;
  readonly parts: ClusterErrorParts;

  constructor(code: ClusterErrorCode, parts: ClusterErrorParts, options?: ErrorOptions) {
    super(`${code}: ${parts.what} (${parts.where}). ${parts.cure}`, options);
    this.name = 'ClusterError';
    this.code = code;
    this.parts = parts;
  }
}
