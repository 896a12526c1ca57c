import { setTimeout as delay } from 'node:timers/promises';
import { GatewayError } from './failure.ts';

export interface RetryPolicy {
  /** Requests to the provider for one of a caller, the first included. */
  readonly attempts: number;
  readonly firstDelayMs: number;
  readonly longestDelayMs: number;
  /** A provider that asks for more patience gets none: its answer is passed on. */
  readonly longestRetryAfterMs: number;
}

export const retryPolicy: RetryPolicy = { attempts: 4, firstDelayMs: 500, longestDelayMs: 8_000, longestRetryAfterMs: 30_000 };

/** How long to wait after the n-th failure (1, 2, …), ms; null: not again. Pure. `random` is from 0 to below 1. */
export function delayAfter(failure: GatewayError, failures: number, random: number, policy: RetryPolicy): number | null {
  // Each timeout has cost the whole patience of the model.
  const attempts = failure.code === 'ProviderTimeout' ? Math.min(2, policy.attempts) : policy.attempts;
  if (!failure.retryable || failure.isOwn || failures >= attempts) return null;
  const { retryAfterMs } = failure;
  if (retryAfterMs !== undefined) return retryAfterMs > policy.longestRetryAfterMs ? null : retryAfterMs + random * policy.firstDelayMs;
  const most = Math.min(policy.longestDelayMs, policy.firstDelayMs * 2 ** (failures - 1));
  return most / 2 + (random * most) / 2;
}

export interface RetryOptions {
  readonly policy: RetryPolicy;
  readonly random: () => number;
  /** Fires when the caller is gone: nothing is asked any more. */
  readonly signal: AbortSignal;
  readonly onRetry: (failure: GatewayError) => void;
}

/** Asks until there is an answer, or a failure that does not pass. `failures` counts those before. @throws GatewayError */
export async function withRetries<T>(ask: (failures: number) => Promise<T>, { policy, random, signal, onRetry }: RetryOptions): Promise<T> {
  for (let failures = 0; ;) {
    try {
      return await ask(failures);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof GatewayError)) throw error;
      failures += 1;
      const wait = delayAfter(error, failures, random(), policy);
      if (wait === null) throw error;
      onRetry(error);
      await delay(wait, undefined, { signal });
    }
  }
}
