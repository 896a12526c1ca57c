import type { Duplex } from 'node:stream';
import { deadline, type Clock } from '@agentfleet/kube';

export interface PeekOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Counted from the first byte. */
  readonly limitMs: number;
  readonly onFirst?: () => void;
}

/**
 * Collects bytes until `decide` says something about them, and gives both; null when the stream ends, fails or takes too
 * long before that. Leaves the stream paused; the bytes are taken out of it.
 *
 * @throws what `decide` throws
 */
export async function peek<T>(
  stream: Duplex,
  decide: (bytes: Buffer) => T | null,
  { clock, signal, limitMs, onFirst }: PeekOptions,
): Promise<{ readonly value: T; readonly bytes: Buffer } | null> {
  if (stream.destroyed || stream.readableEnded) return null;
  const { promise, resolve, reject } = Promise.withResolvers<{ readonly value: T; readonly bytes: Buffer } | null>();
  let bytes = Buffer.alloc(0);
  let limit: ReturnType<typeof deadline> | undefined;
  const over = (): void => resolve(null);
  const onData = (chunk: Buffer): void => {
    if (limit === undefined) {
      onFirst?.();
      limit = deadline(clock, limitMs, signal);
      limit.signal.addEventListener('abort', over, { once: true });
    }
    bytes = Buffer.concat([bytes, chunk]);
    try {
      const value = decide(bytes);
      if (value === null) return;
      stream.pause();
      resolve({ value, bytes });
    } catch (error) {
      stream.pause();
      reject(error instanceof Error ? error : new Error(String(error)));
    }
  };
  for (const event of ['end', 'close', 'error']) stream.once(event, over);
  stream.on('data', onData);
  stream.resume();
  try {
    return await promise;
  } finally {
    stream.pause();
    stream.removeListener('data', onData);
    for (const event of ['end', 'close', 'error']) stream.removeListener(event, over);
    limit?.dispose();
  }
}
