import { isApiError } from '@agentfleet/kube';

/** What a failed status write means. */
export type Refusal =
  /** The task has gone, was made anew, or is assigned to another worker or epoch: stop working on it. */
  | 'NotMine'
  /** The body is not what the API takes. */
  | 'Invalid'
  /** Trying again may help. */
  | 'Retry';

/** Name of the admission policy that only lets the assigned pod write, under the current epoch. */
const fencePolicy = 'agenttask-worker-fence';

export function classify(error: unknown): Refusal {
  if (!isApiError(error)) return 'Retry';
  if (error.code === 404) return 'NotMine';
  if (error.code === 403 || error.code === 422) {
    if (error.message.includes(fencePolicy)) return 'NotMine';
    // A right that is missing may be granted yet; a body that is invalid stays so.
    return error.code === 422 ? 'Invalid' : 'Retry';
  }
  return error.code === 400 ? 'Invalid' : 'Retry';
}
