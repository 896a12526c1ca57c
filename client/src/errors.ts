import { asError, isApiError, isKubeError } from '@agentfleet/kube';

const cures = {
  AF_CLIENT_CONFIG: 'give the client a kubeconfig, or server and token',
  AF_CLIENT_UNREACHABLE: 'look at the address of the API server and at the network between',
  AF_CLIENT_UNAUTHENTICATED: 'log in again, or give another token',
  AF_CLIENT_FORBIDDEN:
    'ask for the ClusterRole that the message names: agentfleet-viewer reads, edit creates, agentfleet-approver gives orders',
  AF_CLIENT_NOT_FOUND: 'correct name and namespace',
  AF_CLIENT_NOT_INSTALLED: 'install AgentFleet in this cluster, or choose another context',
  AF_CLIENT_INVALID: 'correct the field that the message names',
  AF_CLIENT_EXISTS: 'use another name, or metadata.generateName',
  AF_CLIENT_GONE: 'the task was deleted while it was followed; nothing more comes of it',
  AF_CLIENT_NOTHING_WAITS: 'look at status.run.pendingApproval before deciding',
  AF_CLIENT_REFUSED: 'the operator refuses the order, see the message',
  AF_CLIENT_TIMEOUT: 'the order stands; look at it later',
  AF_CLIENT_RESULTS_MISSING: 'install the chart with its results API, or read status.run.patch and status.run.answer',
  AF_CLIENT_ARTIFACT_DAMAGED: 'fetch it again; look at the storage of the pool when it stays',
  AF_CLIENT_SERVER: 'look at the API server, and at the message',
} as const;

/** Codes that programs check. */
export type FleetErrorCode = keyof typeof cures;

/** A failure that the caller may cure: a code, the fault, and the cure. */
export class FleetError extends Error {
  readonly code: FleetErrorCode;
  readonly cure: string;
  /** Status of the API server's answer, if any. */
  readonly status: number | undefined;

  constructor(code: FleetErrorCode, message: string, options: ErrorOptions & { readonly status?: number } = {}) {
    super(`${code}: ${message}; ${cures[code]}`, options);
    this.name = 'FleetError';
    this.code = code;
    this.cure = cures[code];
    this.status = options.status;
  }
}

const byStatus: Readonly<Record<number, FleetErrorCode>> = {
  401: 'AF_CLIENT_UNAUTHENTICATED',
  403: 'AF_CLIENT_FORBIDDEN',
  404: 'AF_CLIENT_NOT_FOUND',
  409: 'AF_CLIENT_EXISTS',
  422: 'AF_CLIENT_INVALID',
};

/** Returns any failure of a request as a FleetError; an existing one stays. */
export function asFleetError(thrown: unknown): FleetError {
  const cause = asError(thrown);
  if (cause instanceof FleetError) return cause;
  if (isKubeError(cause)) {
    const unreachable = cause.code === 'AF_API_UNREACHABLE' || cause.code === 'AF_API_TIMEOUT';
    const code = unreachable ? 'AF_CLIENT_UNREACHABLE' : cause.code === 'AF_KUBE_CONFIG' ? 'AF_CLIENT_CONFIG' : 'AF_CLIENT_SERVER';
    return new FleetError(code, cause.message, { cause });
  }
  if (!isApiError(cause)) return new FleetError('AF_CLIENT_SERVER', cause.message, { cause });
  const { code: status } = cause;
  // An API server that does not know the path answers without naming an object.
  const unknown = status === 404 && /could not find the requested resource|page not found/.test(cause.message);
  const code = unknown ? 'AF_CLIENT_NOT_INSTALLED' : (byStatus[status] ?? (status === 400 ? 'AF_CLIENT_INVALID' : 'AF_CLIENT_SERVER'));
  return new FleetError(code, cause.message, { cause, status });
}

/** Runs a call; a failure becomes a FleetError. */
export async function asFleetErrors<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw asFleetError(error);
  }
}
