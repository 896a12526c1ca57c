import { asError, isApiError, isKubeError } from '@agentfleet/kube';
import { CliError } from './failure.ts';

function ofServer(code: number, message: string): string {
  if (code === 401) return `the API server does not know you (${message}); log in again, or choose another --context`;
  if (code === 403)
    return `you may not do that (${message}); ask for the ClusterRole agentfleet-viewer to look, or agentfleet-approver to give orders`;
  if (code === 404)
    return `the API server does not have that (${message}); is AgentFleet installed in this cluster, and --context the right one?`;
  return message;
}

/** Any failure in one line for the user. */
export function explain(thrown: unknown): string {
  const error = asError(thrown);
  if (error instanceof CliError || isKubeError(error)) return error.message;
  if (isApiError(error)) return ofServer(error.code, error.message.trim());
  if ('code' in error && error.code === 'ENOENT')
    return `there is no kubeconfig (${error.message}); give one by --kubeconfig or KUBECONFIG`;
  return error.message;
}
