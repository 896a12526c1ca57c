import type { Clock } from '@agentfleet/kube';
import type { ExecEnd, ExecEvent } from '@agentfleet/protocol/keeper';

/** A look at a command that may run on. */
export interface Watched {
  /** Both outputs, in the order in which they came. */
  readonly output: string;
  /** Number of the last event that was seen. */
  readonly seen: number;
  /** Null: it runs on. */
  readonly end: ExecEnd | null;
}

interface Watch {
  /** Number of the last event that is known. */
  readonly after: number;
  readonly ms: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Looks at the events of a command until it ends or the time is over.
 *
 * @param follow the events after `after`
 */
export async function watch(
  follow: (signal: AbortSignal) => AsyncIterable<ExecEvent>,
  { after, ms, clock, signal }: Watch,
): Promise<Watched> {
  const over = new AbortController();
  const timer = clock.after(ms, () => over.abort());
  const parts: Buffer[] = [];
  let seen = after;
  let end: ExecEnd | null = null;
  try {
    for await (const event of follow(AbortSignal.any([signal, over.signal]))) {
      if ('seq' in event) seen = event.seq;
      if (event.type === 'out') parts.push('text' in event ? Buffer.from(event.text) : Buffer.from(event.b64, 'base64'));
      if (event.type === 'end') end = event;
    }
  } catch (error) {
    if (!over.signal.aborted || signal.aborted) throw error;
  } finally {
    timer.cancel();
  }
  return { output: Buffer.concat(parts).toString('utf8'), seen, end };
}
