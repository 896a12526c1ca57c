import { asError, isApiError, isKubeError } from '@agentfleet/kube';
import type { Failure } from './wire.ts';

/** An error for the caller: what, where and the cure. */
export class DashboardError extends Error {
  readonly status: number;
  readonly failure: Failure;

  constructor(status: number, code: string, message: string, cure?: string) {
    super(message);
    this.name = 'DashboardError';
    this.status = status;
    this.failure = { code, message, ...(cure === undefined ? {} : { cure }) };
  }
}

export const unauthorized = (message: string): DashboardError =>
  new DashboardError(401, 'AF_DASHBOARD_LOGIN', message, 'Log in with a token: kubectl create token NAME, or your provider’s');

const cures: Readonly<Record<number, string>> = {
  401: 'Log in again: the token is unknown or has expired',
  403: 'Ask for the ClusterRole agentfleet-viewer to look, agentfleet-approver to decide, or edit to write tasks',
  404: 'Look whether it was deleted, or whether AgentFleet is installed in this cluster',
  409: 'Load the page again: somebody changed it meanwhile',
  422: 'Correct the field that the message names',
};

/** Status and body for whatever was thrown; what is not expected is not described to the browser. */
export function answerOf(thrown: unknown): { readonly status: number; readonly failure: Failure } {
  const error = asError(thrown);
  if (error instanceof DashboardError) return { status: error.status, failure: error.failure };
  if (isApiError(error)) {
    const cure = cures[error.code];
    const status = error.code >= 400 && error.code < 600 ? error.code : 502;
    return { status, failure: { code: error.reason, message: error.message, ...(cure === undefined ? {} : { cure }) } };
  }
  if (isKubeError(error))
    return {
      status: 503,
      failure: { code: error.code, message: 'the API server does not answer', cure: 'Wait: the page goes on by itself when it is back' },
    };
  const status = 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : 500;
  const message = status < 500 ? error.message : 'the dashboard failed; its log has more';
  return { status, failure: { code: status === 413 ? 'AF_DASHBOARD_TOO_LARGE' : 'AF_DASHBOARD_FAILED', message } };
}
