import { open } from 'node:fs/promises';
import type { ExecEnd } from '@agentfleet/protocol/keeper';
import type { Clock } from '../clock.ts';
import type { FollowSource } from './follow.ts';

/** More than the last event of a command ever is. */
const tailBytes = 64 * 1024;

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
      if (source.ended) return await lastEvent(source);
      if (late) return null;
      await Promise.race([change, over.promise]);
    }
  } finally {
    stop();
  }
}

async function lastEvent({ file, size }: FollowSource): Promise<ExecEnd | null> {
  const handle = await open(file, 'r');
  try {
    const start = Math.max(0, size - tailBytes);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - start), 0, size - start, start);
    const line = buffer.toString('utf8', 0, bytesRead).trimEnd().split('\n').at(-1) ?? '';
    const event = JSON.parse(line) as { readonly type: string };
    // A journal that a full disk cut off has none.
    return event.type === 'end' ? (event as ExecEnd) : null;
  } finally {
    await handle.close();
  }
}
