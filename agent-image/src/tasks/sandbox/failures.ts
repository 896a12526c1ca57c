import { asError, isApiError, KubeError } from '@agentfleet/kube';
import { KeeperRefusal } from '@agentfleet/keeper/client';
import { AttemptFailure, causesOf, isConnectionLoss } from '../../base/failure.ts';
import type { Outcome } from '../../attempt/ports.ts';

function isOutside(error: unknown): boolean {
  const known = causesOf(error).some((one) => one instanceof KeeperRefusal || one instanceof KubeError || isApiError(one));
  return known || isConnectionLoss(error);
}

/** Returns the outcome of an attempt whose engine threw. External failures are Infrastructure, the rest are internal. */
export function outcomeOf(error: unknown): Outcome {
  if (error instanceof AttemptFailure) {
    return { result: 'Failed', class: error.failureClass, reason: error.reason, message: error.message };
  }
  const message = asError(error).message;
  if (isOutside(error)) return { result: 'Failed', class: 'Infrastructure', reason: 'SandboxUnreachable', message };
  return { result: 'Failed', class: 'AgentError', reason: 'UnexpectedError', message: `${message}; see the log of the worker` };
}
