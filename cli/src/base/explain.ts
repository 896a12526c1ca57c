import { asError, isApiError, isKubeError, type ApiError } from '@agentfleet/kube';
import { apiVersion } from '@agentfleet/protocol/api';
import { CliError, exitCodes } from './failure.ts';

/** A failure for the user: one line with its cure, and the exit status. */
interface Explanation {
  readonly message: string;
  readonly code: number;
}

/** Reports whether the API server serves no such resource at all: a definition is missing, or it is older than this program. */
export function isUnknownResource(error: unknown): boolean {
  return isApiError(error) && error.code === 404 && /could not find the requested resource|404 page not found/.test(error.message);
}

/** The role that a refusal of the API server asks for; its words are those of k8s.io/apiserver, responsewriters.ForbiddenStatusError. */
function roleFor(message: string): string {
  const { verb = '', resource = '' } = /cannot (?<verb>\w+) resource "(?<resource>[^"]+)"/.exec(message)?.groups ?? {};
  const namespace = /in the namespace "([^"]+)"/.exec(message)?.[1];
  const giver = namespace === undefined ? 'a cluster administrator' : `whoever administers namespace ${namespace}`;
  if (['get', 'list', 'watch', ''].includes(verb))
    return `ask ${giver} for the ClusterRole agentfleet-viewer to look, or agentfleet-approver to give orders`;
  if (resource.endsWith('/status'))
    return 'only who may write the status of our kinds can restore tasks that have ended: a cluster administrator';
  if (resource === 'agenttasks') return 'ask for the ClusterRole agentfleet-editor there';
  if (resource === 'agenttaskorders' && verb === 'create') return 'ask for the ClusterRole agentfleet-approver there';
  return 'ask for the ClusterRole agentfleet-admin there';
}

function ofServer(error: ApiError): Explanation {
  const message = error.message.trim();
  const { forbidden, notFound, unavailable, failed } = exitCodes;
  if (error.code === 401)
    return { code: forbidden, message: `the API server does not know you (${message}); log in again, or choose another --context` };
  if (error.code === 403 && message.includes('exceeded quota'))
    return {
      code: forbidden,
      message: `a quota of the namespace is used up (${message}); raise the ResourceQuota, or delete what is not needed`,
    };
  if (error.code === 403)
    return {
      code: forbidden,
      message: `you may not do that (${message}); ${roleFor(message)}`,
    };
  if (error.code === 404)
    return {
      code: isUnknownResource(error) ? unavailable : notFound,
      message: `the API server does not have that (${message}); is AgentFleet installed in this cluster, does it serve ${apiVersion} as this fleet asks for, and --context the right one?`,
    };
  if (/unknown field|no kind .* is registered/.test(message))
    return {
      code: unavailable,
      message: `this fleet and the AgentFleet of the cluster are of different versions (${message}); upgrade the chart, or take the fleet of its version`,
    };
  if (error.code >= 500)
    return { code: unavailable, message: `the API server cannot do that now (${message}); try again, and look with "fleet doctor"` };
  return { code: failed, message };
}

const away = new Set(['AF_API_TIMEOUT', 'AF_API_UNREACHABLE', 'AF_API_MALFORMED']);

/** Reports whether the same request may succeed later without any change to it. */
export function isPassing(error: unknown): boolean {
  return isKubeError(error) ? away.has(error.code) : isApiError(error) && error.retryable;
}

/** Any failure for the user; never a stack trace. */
export function explain(thrown: unknown): Explanation {
  const error = asError(thrown);
  if (error instanceof CliError) return { message: error.message, code: error.exitCode };
  if (isKubeError(error)) return { message: error.message, code: away.has(error.code) ? exitCodes.unavailable : exitCodes.failed };
  if (isApiError(error)) return ofServer(error);
  return { message: error.message, code: exitCodes.failed };
}
