// sandbox-image/keeper, base: stream of the lines of a file, with offsets. May import protocol alone.
import { open, type FileHandle } from 'node:fs/promises';

/** A line of a file without its newline, and where it starts. */
export interface FileLine {
  readonly bytes: Buffer;
  readonly offset: number;
  /** False for a last line that no newline ends. */
  readonly complete: boolean;
}

interface LineRange {
  readonly start?: number;
  /** First byte that is not read; default: the end of the file when reading started. */
  readonly end?: number;
  readonly signal?: AbortSignal;
}

const chunkBytes = 64 * 1024;
/** A longer line is yielded in pieces, each `complete: false`. */
const maxLineBytes = 16 * 1024 * 1024;
const newline = 0x0a;

/** The lines of a file, one chunk in memory at a time. */
export async function* readLines(file: string, range: LineRange = {}): AsyncGenerator<FileLine> {
  await using handle = await open(file, 'r');
  const end = range.end ?? (await handle.stat()).size;
  yield* splitLines(handle, range.start ?? 0, end, range);
}

async function* splitLines(handle: FileHandle, start: number, end: number, range: LineRange): AsyncGenerator<FileLine> {
  const buffer = Buffer.allocUnsafe(chunkBytes);
  let held: Buffer[] = [];
  let heldBytes = 0;
  let lineStart = start;
  const take = (last: Buffer, complete: boolean): FileLine => {
    const line = { bytes: held.length === 0 ? last : Buffer.concat([...held, last]), offset: lineStart, complete };
    lineStart += line.bytes.length + (complete ? 1 : 0);
    held = [];
    heldBytes = 0;
    return line;
  };
  for (let position = start; position < end;) {
    range.signal?.throwIfAborted();
    const { bytesRead } = await handle.read(buffer, 0, Math.min(chunkBytes, end - position), position);
    if (bytesRead === 0) break;
    position += bytesRead;
    let from = 0;
    for (let at = buffer.indexOf(newline); at !== -1 && at < bytesRead; at = buffer.indexOf(newline, from)) {
      yield take(Buffer.from(buffer.subarray(from, at)), true);
      from = at + 1;
    }
    if (from < bytesRead) {
      held.push(Buffer.from(buffer.subarray(from, bytesRead)));
      heldBytes += bytesRead - from;
    }
    if (heldBytes > maxLineBytes) yield take(Buffer.alloc(0), false);
  }
  if (heldBytes > 0) yield take(Buffer.alloc(0), false);
}
