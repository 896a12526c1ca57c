import type { ExecEnd } from '@agentfleet/protocol/keeper';
import type { Clock } from '../clock.ts';
import { lastEvent } from './archive.ts';
import type { FollowSource } from './follow.ts';

/** The end of a command, or null when it has not ended within `ms`. The command is not touched. */
export async function waitForEnd(
  source: FollowSource,
  ms: number,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<ExecEnd | null> {
  const over = Promise.withResolvers<void>();
  const stop = clock.after(ms, over.resolve);
  signal.addEventListener('abort', () => over.resolve(), { once: true });
  let late = false;
  void over.promise.then(() => {
    late = true;
  });
  try {
    for (;;) {
      const change = source.changed();
      if (source.ended) return await lastEvent(source.file, source.size);
      if (late) return null;
      await Promise.race([change, over.promise]);
    }
  } finally {
    stop();
  }
}
