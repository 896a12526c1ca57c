import type { FailureClass, Reason } from '@agentfleet/protocol/api';
import { sleep, type Clock } from '@agentfleet/kube';
import { KeeperRefusal } from '@agentfleet/keeper/client';

/**
 * Reason why an attempt cannot continue: becomes `status.run.outcome`. The message names fault and cure, and holds no
 * credential.
 */
export class AttemptFailure extends Error {
  readonly failureClass: FailureClass;
  /** CamelCase, for programs. */
  readonly reason: Reason;

  constructor(failureClass: FailureClass, reason: Reason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'AttemptFailure';
    this.failureClass = failureClass;
    this.reason = reason;
  }
}

/** Longest time without the keeper or the tools container before the attempt fails, and the pause between two tries; ms. */
export const retryBounds = { awayMs: 60_000, betweenMs: 500 } as const;

/** Refusals that pass by themselves. */
const passing: ReadonlySet<string> = new Set(['AF_TOOLS_UNAVAILABLE', 'AF_BUSY', 'AF_NETWORK_NOT_ENFORCED']);

/** The keeper knows a newer assignment: this worker has to stop, as after a lost lease. */
export class Superseded extends Error {
  constructor(cause: unknown) {
    super('a newer assignment of this task exists', { cause });
    this.name = 'Superseded';
  }
}

/** Reports whether an error or one of its causes is about a newer assignment: this worker must then neither continue nor report an outcome. */
export function isSuperseded(error: unknown): boolean {
  return causesOf(error).some((one) => one instanceof KeeperRefusal && one.code === 'AF_EPOCH_STALE');
}

/** @throws Superseded for such an error */
export function throwIfSuperseded(error: unknown): void {
  if (isSuperseded(error)) throw error instanceof Superseded ? error : new Superseded(error);
}

interface RetryOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Repeats a call of the keeper while it, its connection or the tools container is unavailable, for at most a minute.
 * Only for calls that may be repeated: the keeper replays a command by its execId, all others set a state.
 *
 * @throws the signal's reason when it is aborted; Superseded; AttemptFailure of class Infrastructure; any other refusal
 */
export async function retryWhileUnavailable<T>(call: () => Promise<T>, { clock, signal }: RetryOptions): Promise<T> {
  const started = clock.monotonic();
  for (;;) {
    signal.throwIfAborted();
    try {
      return await call();
    } catch (error) {
      signal.throwIfAborted();
      throwIfSuperseded(error);
      if (!isPassing(error)) throw error;
      if (clock.monotonic() - started > retryBounds.awayMs) throw unreachable(error);
      await sleep(clock, retryBounds.betweenMs, signal);
    }
  }
}

function isPassing(error: unknown): boolean {
  if (error instanceof KeeperRefusal) return passing.has(error.code) || (error.code === 'AF_UNREADABLE' && error.status >= 500);
  return isConnectionLoss(error);
}

/** No answer at all, or half of one: undici's and Node's codes, and a stream that ends early. */
export function isConnectionLoss(error: unknown): boolean {
  return causesOf(error).some(
    (one) =>
      /^(?:UND_ERR_|ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOST|ENET)/.test(codeOf(one) ?? '') ||
      (one instanceof Error && /stopped before its end|cut in the middle|other side closed|terminated/.test(one.message)),
  );
}

function unreachable(error: unknown): AttemptFailure {
  const why = error instanceof Error ? error.message : String(error);
  const [reason, what] =
    error instanceof KeeperRefusal && error.code === 'AF_TOOLS_UNAVAILABLE'
      ? (['ToolsLost', 'the tools container did not come back'] as const)
      : (['KeeperUnreachable', 'the keeper of the sandbox did not answer as it should'] as const);
  return new AttemptFailure('Infrastructure', reason, `${what} within ${retryBounds.awayMs / 1000} s: ${why}; the task is tried again`, {
    cause: error,
  });
}

/** An error and its causes, the outermost first; at most eight. */
export function causesOf(error: unknown): readonly unknown[] {
  const found = [error];
  for (let at = error; at instanceof Error && at.cause !== undefined && found.length < 8; at = at.cause) found.push(at.cause);
  return found;
}

/** The code of an error of Node or undici. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** The innermost cause that is an error: `fetch failed` explains nothing. */
export function innermost(error: unknown): unknown {
  return causesOf(error).findLast((one) => one instanceof Error) ?? error;
}

/** Its words; its code where it has none, as when several addresses refused the connection. */
export function reasonOf(error: unknown): string {
  const inner = innermost(error);
  return inner instanceof Error ? inner.message || codeOf(inner) || inner.name : String(inner);
}
