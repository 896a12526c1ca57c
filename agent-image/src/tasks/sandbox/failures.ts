import { isApiError, KubeError } from '@agentfleet/kube';
import { KeeperRefusal } from '@agentfleet/keeper/client';
import { AttemptFailure } from '../../base/failure.ts';
import type { Outcome } from '../../attempt/ports.ts';

/** Returns an error and its causes, at most eight deep. */
function chain(error: unknown): readonly unknown[] {
  const found: unknown[] = [];
  for (let next = error; next !== undefined && found.length < 8; next = next instanceof Error ? next.cause : undefined) found.push(next);
  return found;
}

/** Reports whether the keeper has seen a newer assignment: then this worker must stop, as after a lost lease. */
export function isSuperseded(error: unknown): boolean {
  return chain(error).some((one) => one instanceof KeeperRefusal && one.code === 'AF_EPOCH_STALE');
}

const networkCode = /^(UND_ERR_|ECONN|EHOST|ENET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)/;

function isOutside(error: unknown): boolean {
  return chain(error).some(
    (one) =>
      one instanceof KeeperRefusal ||
      one instanceof KubeError ||
      isApiError(one) ||
      (one instanceof Error && networkCode.test((one as NodeJS.ErrnoException).code ?? '')),
  );
}

/** Returns the outcome of an attempt whose engine threw. External failures are Infrastructure, the rest are internal. */
export function outcomeOf(error: unknown): Outcome {
  if (error instanceof AttemptFailure) {
    return { result: 'Failed', class: error.failureClass, reason: error.reason, message: error.message };
  }
  const message = error instanceof Error ? error.message : String(error);
  if (isOutside(error)) return { result: 'Failed', class: 'Infrastructure', reason: 'SandboxUnreachable', message };
  return { result: 'Failed', class: 'AgentError', reason: 'UnexpectedError', message: `${message}; see the log of the worker` };
}
