import { createHash } from 'node:crypto';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { type ExecEnd, type ExecEvent, execBounds } from '@agentfleet/protocol/keeper';
import type { StreamBytes } from '../link/index.ts';
import type { Clock } from '../base/clock.ts';

/** First line of a journal; the events follow, so that the line number is the sequence number. */
export interface JournalHeader {
  readonly type: 'request';
  readonly execId: string;
  readonly requestDigest: string;
  readonly epoch: number;
  readonly at: string;
  /** There when the events before the end were removed. */
  readonly cut?: true;
}

export interface JournalOptions {
  /** Called once when the disk takes no more. */
  readonly onFault: (error: unknown) => void;
  /** Bytes of its events at most; default and most {@link maxJournalBytes}. */
  readonly maxBytes?: number;
}

type Unnumbered<E> = E extends { readonly seq: number } ? Omit<E, 'seq'> : never;
/** An event before it has its number. */
export type NewEvent = Unnumbered<ExecEvent>;

function outputBytes(event: Extract<NewEvent, { readonly type: 'out' }>): number {
  return 'text' in event ? Buffer.byteLength(event.text) : Buffer.byteLength(event.b64, 'base64');
}

const highWaterBytes = 256 * 1024;
/** Escapes and base64 make lines longer than their content; more than this is no ordinary output. */
export const maxJournalBytes = 64 * 1024 * 1024;

/**
 * The journal of a running command: the only copy of its output. Written asynchronously in batches; readers see whole
 * lines only. When the disk is full it keeps what it has and reports the fault once.
 */
export class Journal {
  readonly file: string;
  readonly #handle: FileHandle;
  readonly #onFault: (error: unknown) => void;
  readonly #maxBytes: number;
  readonly #hash = createHash('sha256');
  #pending: string[] = [];
  #pendingBytes = 0;
  #flushing: Promise<void> | null = null;
  #size = 0;
  #seq = 0;
  #lost = 0;
  readonly #lostBytes = { stdout: 0, stderr: 0 };
  #fault: unknown = null;
  #ended = false;
  #changed = Promise.withResolvers<void>();

  private constructor(file: string, handle: FileHandle, { onFault, maxBytes = maxJournalBytes }: JournalOptions) {
    this.file = file;
    this.#handle = handle;
    this.#onFault = onFault;
    this.#maxBytes = maxBytes;
  }

  /** Fails with `EEXIST` when there is a journal already: one id runs once. */
  static async create(file: string, header: JournalHeader, options: JournalOptions): Promise<Journal> {
    const journal = new Journal(file, await open(file, 'wx', 0o600), options);
    try {
      await journal.#write(Buffer.from(`${JSON.stringify(header)}\n`));
    } catch (error) {
      await journal.#handle.close();
      // An empty journal would take the id for a command that was never run.
      await rm(file, { force: true });
      throw error;
    }
    return journal;
  }

  /** Bytes that readers may read. */
  get size(): number {
    return this.#size;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Events that the disk did not take. */
  get lost(): number {
    return this.#lost;
  }

  /** Bytes of output for which the journal had no room. Bytes lost to a failing disk are reported by `fault`. */
  get lostBytes(): StreamBytes {
    return this.#lostBytes;
  }

  get fault(): unknown {
    return this.#fault;
  }

  /** Resolves at the next growth or the end. */
  changed(): Promise<void> {
    return this.#changed.promise;
  }

  append(event: NewEvent): Promise<void> | undefined {
    if (this.#fault !== null || this.#size + this.#pendingBytes > this.#maxBytes) {
      this.#lost += 1;
      if (event.type === 'out') this.#lostBytes[event.stream] += outputBytes(event);
      return undefined;
    }
    this.#seq += 1;
    const line = `${JSON.stringify({ ...event, seq: this.#seq })}\n`;
    this.#pending.push(line);
    this.#pendingBytes += Buffer.byteLength(line);
    this.#flushing ??= this.#flush();
    return this.#pendingBytes > highWaterBytes ? this.#flushing : undefined;
  }

  /** Writes the last event. `retry` frees space once when the disk is full. */
  async finish(end: Omit<ExecEnd, 'seq'>, retry: () => Promise<void>) {
    await this.#flushing;
    this.#seq += 1;
    const line = Buffer.from(`${JSON.stringify({ ...end, seq: this.#seq })}\n`);
    try {
      await this.#write(line).catch(async () => {
        await retry();
        await this.#write(line);
      });
    } finally {
      this.#ended = true;
      this.#notify();
      await this.#handle.close();
    }
    return { sha256: this.#hash.digest('hex'), bytes: this.#size, events: this.#seq };
  }

  async #flush(): Promise<void> {
    while (this.#pending.length > 0) {
      const lines = this.#pending;
      const bytes = Buffer.from(lines.join(''));
      this.#pending = [];
      this.#pendingBytes = 0;
      try {
        await this.#write(bytes);
      } catch (error) {
        this.#fail(error, lines.length);
      }
    }
    this.#flushing = null;
  }

  #fail(error: unknown, unwritten: number): void {
    const dropped = unwritten + this.#pending.length;
    this.#lost += dropped;
    this.#seq -= dropped;
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#fault = error;
    this.#onFault(error);
  }

  /** All or nothing: a batch that does not fit leaves no partial line. */
  async #write(bytes: Buffer): Promise<void> {
    try {
      for (let done = 0; done < bytes.length;) {
        done += (await this.#handle.write(bytes, done, bytes.length - done, this.#size + done)).bytesWritten;
      }
    } catch (error) {
      await this.#handle.truncate(this.#size);
      throw error;
    }
    this.#hash.update(bytes);
    this.#size += bytes.length;
    this.#notify();
  }

  #notify(): void {
    const changed = this.#changed;
    this.#changed = Promise.withResolvers<void>();
    changed.resolve();
  }
}

/** A journal to read: a finished file, or one that still grows. */
export interface FollowSource {
  readonly file: string;
  /** Bytes of whole lines that can be read now; once it has ended, the whole file can. */
  readonly size: number;
  readonly ended: boolean;
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
 * Yields the event lines of a command from `from` until its end; of a journal whose events were removed, the end. Reads the journal
 * file, never memory: a slow reader costs one chunk, however much the command writes. A keepalive line is sent after 10 s without another.
 */
export async function* follow(source: FollowSource, options: FollowOptions): AsyncGenerator<Buffer> {
  await using handle = await open(source.file, 'r');
  let position = 0;
  let skip = Math.max(options.from, 1);
  for (;;) {
    // Both are read before the sizes are compared: a growth in between wakes this loop again.
    const change = source.changed();
    const { ended } = source;
    const size = ended ? Number.POSITIVE_INFINITY : source.size;
    while (position < size) {
      options.signal.throwIfAborted();
      const chunk = await readChunk(handle, position, size);
      if (chunk.length === 0) return;
      // The file shows it, not the source: it may have been cut before it was opened.
      if (position === 0 && headerIn(chunk).cut === true) skip = 1;
      position += chunk.length;
      const cut = skipLines(chunk, skip);
      skip = cut.skip;
      if (cut.rest.length > 0) yield cut.rest;
    }
    if (!(await changesSoon(change, options))) yield keepalive;
  }
}

/** The header of a journal, in its first chunk: it is written at once, and short. */
function headerIn(chunk: Buffer): JournalHeader {
  return JSON.parse(chunk.toString('utf8', 0, chunk.indexOf(newline))) as JournalHeader;
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
