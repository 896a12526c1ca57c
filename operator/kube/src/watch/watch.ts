import { KubeError, asError } from '../runtime/errors.ts';
import { type KubeObject, collectionPath, isRecord, type Resource } from '../api/resource.ts';
import { type Clock, type Timer, slices } from '../runtime/clock.ts';
import { ApiError, type StatusBody } from '../transport/apiError.ts';
import type { ApiStream, Transport } from '../transport/types.ts';

const newline = 0x0a;

/** An API object is at most 1.5 MiB in etcd and 3 MiB on the wire; a longer line is not one. */
const defaultLongestLine = 16 * 1024 * 1024;

/** Cuts a byte stream into lines, whatever its chunks are. Lines of whole chunks are not copied. */
export class LineSplitter {
  readonly #longest: number;
  #pieces: Uint8Array[] = [];
  #held = 0;

  constructor(longest: number = defaultLongestLine) {
    this.#longest = longest;
  }

  /** Calls `line` for every line that this chunk completes; empty lines are skipped. */
  push(chunk: Uint8Array, line: (text: string) => void): void {
    let from = 0;
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
      const text = this.#complete(chunk.subarray(from, at));
      from = at + 1;
      if (text !== '') line(text);
    }
    if (from < chunk.length) this.#hold(chunk.subarray(from));
  }

  /** Bytes that belong to a line without end; at the end of a stream they are a torn event. */
  get pending(): number {
    return this.#held;
  }

  #hold(piece: Uint8Array): void {
    this.#held += piece.length;
    if (this.#held > this.#longest) {
      const what = `a line of more than ${this.#longest} bytes`;
      throw new KubeError('AF_API_MALFORMED', { what, where: 'a stream of lines', cure: 'Check what stands between us and the server' });
    }
    this.#pieces.push(piece);
  }

  #complete(end: Uint8Array): string {
    if (this.#pieces.length === 0) return textOf(end);
    const whole = Buffer.concat([...this.#pieces, end], this.#held + end.length);
    this.#pieces = [];
    this.#held = 0;
    return textOf(whole);
  }
}

/**
 * The lines of a byte stream, as LineSplitter cuts them: at line feeds alone, because JSON has other line separators inside its
 * texts. The last line needs no line feed. @throws KubeError AF_API_MALFORMED for a line without end
 */
export async function* linesOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const splitter = new LineSplitter();
  const lines: string[] = [];
  const take = (line: string): void => void lines.push(line);
  for await (const chunk of source) {
    splitter.push(chunk, take);
    yield* lines.splice(0);
  }
  splitter.push(Uint8Array.of(newline), take);
  yield* lines;
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8').trim();
}

export interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: T;
}

export interface WatchOptions<T extends KubeObject> {
  readonly transport: Transport;
  readonly resource: Resource<T>;
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Events after this version; undefined with `sendInitialEvents` for the newest state. */
  readonly resourceVersion?: string;
  /** Begin with the present objects as ADDED, then a bookmark that marks their end (KEP-3157). */
  readonly sendInitialEvents?: boolean;
  /** The server ends the watch after this. */
  readonly timeoutSeconds: number;
  /** Without event or bookmark for this long the connection counts as dead. Bookmarks come each minute. */
  readonly stallMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The server took the watch; no event was read yet. */
  readonly onOpen?: () => void;
}

/** Way in which a watch ended when nothing was wrong. */
export type WatchEnd = 'closed' | 'stalled' | 'stopped';

interface RawEvent<T> {
  readonly type: WatchEvent<T>['type'] | 'ERROR';
  readonly object: T;
}

const eventTypes = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']);

function parseEvent<T>(line: string, where: string): WatchEvent<T> {
  let event: RawEvent<T>;
  try {
    event = JSON.parse(line) as RawEvent<T>;
  } catch (error) {
    throw malformed('a line is not JSON', where, error);
  }
  if (!isRecord(event) || !eventTypes.has(event.type) || !isRecord(event.object)) throw malformed('a line is no event', where);
  if (event.type === 'ERROR') {
    const status = event.object as StatusBody;
    throw new ApiError(status.code ?? 500, status, where);
  }
  const { metadata } = event.object as { readonly metadata?: unknown };
  const complete = isRecord(metadata) && typeof metadata['resourceVersion'] === 'string' && metadata['resourceVersion'] !== '';
  if (!complete || (event.type !== 'BOOKMARK' && typeof metadata['name'] !== 'string')) {
    throw malformed('an event has no object with name and version', where);
  }
  return event as WatchEvent<T>;
}

/** Returns the error for a damaged event: skipping it would lose an object permanently, as the next event moves the version past it. */
function malformed(what: string, where: string, cause?: unknown): KubeError {
  return new KubeError('AF_API_MALFORMED', { what, where, cure: 'Nothing to do: the state is listed again' }, { cause });
}

async function open<T extends KubeObject>(options: WatchOptions<T>, path: string): Promise<ApiStream> {
  const { labelSelector, fieldSelector, resourceVersion, sendInitialEvents, timeoutSeconds } = options;
  return options.transport.stream({
    method: 'GET',
    path,
    query: {
      watch: true,
      allowWatchBookmarks: true,
      labelSelector,
      fieldSelector,
      resourceVersion,
      timeoutSeconds,
      sendInitialEvents,
      resourceVersionMatch: sendInitialEvents === true ? 'NotOlderThan' : undefined,
    },
    lane: 'watch',
    retry: false,
    signal: options.signal,
  });
}

/**
 * Runs one watch to its end and hands over each event in order; when that gives a promise the next event waits for it. Resolves when the server closed it, when nothing came
 * for `stallMs`, or when the signal was aborted; rejects with the ERROR event of the server (410 = list again), with
 * AF_API_MALFORMED when the stream is damaged, or with what failed.
 */
export async function watch<T extends KubeObject>(options: WatchOptions<T>, onEvent: (event: WatchEvent<T>) => unknown): Promise<WatchEnd> {
  const { signal, clock } = options;
  const path = collectionPath(options.resource, options.namespace);
  const where = `WATCH ${path}`;
  const stream = await open(options, path);
  options.onOpen?.();
  const guard = new StallGuard(clock, options.stallMs, () => stream.close());
  const stop = (): void => stream.close();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const ended = (): WatchEnd | undefined => (signal.aborted ? 'stopped' : guard.stalled ? 'stalled' : undefined);
  try {
    await readEvents(stream, clock, guard, (line) => {
      if (!signal.aborted) return taken(where, () => onEvent(parseEvent<T>(line, where)));
      return undefined;
    });
    return ended() ?? 'closed';
  } catch (error) {
    const end = ended();
    if (end !== undefined) return end;
    if (error instanceof ApiError || error instanceof KubeError) throw error;
    const cause = asError(error);
    throw new KubeError('AF_API_UNREACHABLE', { what: cause.message, where, cure: 'Nothing to do: the watch starts again' }, { cause });
  } finally {
    guard.stop();
    signal.removeEventListener('abort', stop);
    stream.close();
  }
}

/** A promise only where there is one: most events are taken at once, and a wait for each would cost half of the throughput. */
function taken(where: string, take: () => unknown): Promise<void> | undefined {
  const refuse = (error: unknown): never => {
    if (error instanceof ApiError || error instanceof KubeError) throw error;
    throw malformed(`an event could not be taken: ${asError(error).message}`, where, error);
  };
  try {
    const given = take();
    return given instanceof Promise ? given.then(() => {}, refuse) : undefined;
  } catch (error) {
    return refuse(error);
  }
}

type OnLine = (line: string) => Promise<void> | undefined;

async function readEvents(stream: ApiStream, clock: Clock, guard: StallGuard, onLine: OnLine): Promise<void> {
  const splitter = new LineSplitter();
  const pause = slices(clock);
  for await (const chunk of stream.body) {
    guard.touch();
    const lines: string[] = [];
    splitter.push(chunk, (line) => lines.push(line));
    for (const line of lines) {
      const pending = onLine(line);
      if (pending !== undefined) await pending;
    }
    if (pause.due()) await pause.yield();
  }
  // A torn last line needs no care: its version was not taken, so the next watch sends that event again.
}

/** One timer that looks at the time of the last sign of life, instead of one that is set again at every event. */
class StallGuard {
  readonly #clock: Clock;
  readonly #stallMs: number;
  readonly #onStall: () => void;
  #last: number;
  #timer: Timer;
  stalled = false;

  constructor(clock: Clock, stallMs: number, onStall: () => void) {
    this.#clock = clock;
    this.#stallMs = stallMs;
    this.#onStall = onStall;
    this.#last = clock.monotonic();
    this.#timer = clock.after(stallMs, () => this.#check());
  }

  touch(): void {
    this.#last = this.#clock.monotonic();
  }

  stop(): void {
    this.#timer.cancel();
  }

  #check(): void {
    const rest = this.#last + this.#stallMs - this.#clock.monotonic();
    if (rest > 0) {
      this.#timer = this.#clock.after(rest, () => this.#check());
      return;
    }
    this.stalled = true;
    this.#onStall();
  }
}
