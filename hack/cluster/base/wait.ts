// hack, cluster/base: wait for a condition with a time limit. Of other folders imports hack/cache only.
import { setTimeout as sleep } from 'node:timers/promises';
import { ClusterError } from './errors.ts';

/** Limit of a wait, in milliseconds, and signals that end it early. */
interface WaitOptions {
  readonly timeoutMs: number;
  readonly intervalMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** Place to look at when the wait fails; part of the error. */
  readonly where: string;
}

/**
 * Asks `probe` again and again until it returns something other than `undefined` or `false`.
 * A probe that throws counts as "not yet", except for a ClusterError, which ends the wait.
 * Throws AF_TIMEOUT after `timeoutMs`, with the last thrown message.
 */
export async function waitFor<T>(what: string, probe: () => Promise<T | undefined | false>, options: WaitOptions): Promise<T> {
  const deadline = performance.now() + options.timeoutMs;
  let last = '';
  do {
    options.signal?.throwIfAborted();
    try {
      const answer = await probe();
      if (answer !== undefined && answer !== false) return answer;
    } catch (error) {
      if (error instanceof ClusterError) throw error;
      last = `; last answer: ${error instanceof Error ? error.message.split('\n', 1)[0] : String(error)}`;
    }
    await sleep(options.intervalMs ?? 50, undefined, options.signal ? { signal: options.signal } : {});
  } while (performance.now() < deadline);
  throw new ClusterError('AF_TIMEOUT', {
    what: `${what} did not happen within ${options.timeoutMs / 1000} s${last}`,
    where: options.where,
    cure: 'Read the log named here, then run the command again; it goes on from where it stopped',
  });
}
