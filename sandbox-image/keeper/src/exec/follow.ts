import { open, type FileHandle } from 'node:fs/promises';
import { execBounds } from '@agentfleet/protocol/keeper';
import type { Clock } from '../clock.ts';

/** A journal to read: a finished file, or one that still grows. */
export interface FollowSource {
  readonly file: string;
  /** Bytes of whole lines that can be read now. */
  readonly size: number;
  readonly ended: boolean;
  /** Its events are gone but for the end, which every reader still gets. */
  readonly cut?: boolean;
  changed(): Promise<void>;
}

export interface FollowOptions {
  /** First sequence number to yield; 1 = all. */
  readonly from: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const chunkBytes = 64 * 1024;
const newline = 0x0a;
const keepalive = Buffer.from('{"type":"keepalive"}\n');

/**
 * The event lines of a command from `from` on, until its end. Reads the journal file, never
 * memory: a slow reader costs one chunk, however much the command writes. A keepalive line comes
 * when nothing else came for 10 s.
 */
export async function* follow(source: FollowSource, options: FollowOptions): AsyncGenerator<Buffer> {
  const handle = await open(source.file, 'r');
  try {
    let position = 0;
    let skip = source.cut === true ? 1 : Math.max(options.from, 1);
    for (;;) {
      // Both are read before the sizes are compared: a growth in between wakes this loop again.
      const change = source.changed();
      const { ended, size } = source;
      while (position < size) {
        options.signal.throwIfAborted();
        const chunk = await readChunk(handle, position, size);
        if (chunk.length === 0) return;
        position += chunk.length;
        const cut = skipLines(chunk, skip);
        skip = cut.skip;
        if (cut.rest.length > 0) yield cut.rest;
      }
      if (ended) return;
      if (!(await changesSoon(change, options))) yield keepalive;
    }
  } finally {
    await handle.close();
  }
}

async function readChunk(handle: FileHandle, position: number, size: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, size - position));
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
  return buffer.subarray(0, bytesRead);
}

function skipLines(chunk: Buffer, skip: number): { readonly rest: Buffer; readonly skip: number } {
  let at = 0;
  let left = skip;
  while (left > 0) {
    const next = chunk.indexOf(newline, at);
    if (next === -1) return { rest: chunk.subarray(chunk.length), skip: left };
    at = next + 1;
    left -= 1;
  }
  return { rest: chunk.subarray(at), skip: 0 };
}

/** True when the journal changed, false when the keepalive is due. Rejects when the reader left. */
async function changesSoon(change: Promise<void>, { clock, signal }: FollowOptions): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const stop = clock.after(execBounds.keepaliveSeconds * 1000, () => resolve(false));
  const leave = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', leave, { once: true });
  if (signal.aborted) leave();
  void change.then(() => resolve(true));
  try {
    return await promise;
  } finally {
    stop();
    signal.removeEventListener('abort', leave);
  }
}
