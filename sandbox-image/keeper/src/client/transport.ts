import {
  type ErrorBody,
  type ExecEnd,
  type ExecEvent,
  type KeeperErrorCode,
  epochHeader,
  execBounds,
  keeperErrors,
  maxFileBytes,
  maxLogBytes,
  maxPartsBytes,
  maxTreeBytes,
} from '@agentfleet/protocol/keeper';
import { type Readable, Transform, pipeline } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { outgoingHeaders } from '@agentfleet/protocol/tracing';
import { Agent, type Dispatcher, request } from 'undici';

/** Bounds of one answer: a keeper may be faulty or hostile. */
interface AnswerBound {
  readonly bytes: number;
  /** Seconds from the request to the last byte. */
  readonly seconds: number;
}

const kib = 1024;
const mib = 1024 * kib;

/** Longest line of a stream of lines, in characters. */
const maxLineCharacters = 4 * mib;
/** Bytes of a refusal; the rest is not read. */
export const maxRefusalBytes = 64 * kib;
/** Most levels and most members, over all levels, of a JSON value: each costs far more memory than its text. */
const jsonBounds = { depth: 32, members: 2_000_000 } as const;

/** Bounds by kind of route; the client passes one with each request. The keeper's own bounds are lower than all of these. */
export const answerBounds = {
  /** Acknowledgements and small records. */
  small: { bytes: 256 * kib, seconds: 180 },
  /** Lists and reports whose length depends on the tree. */
  report: { bytes: 16 * mib, seconds: 300 },
  /** A restore, a snapshot, a scrub: small answers that take long. */
  work: { bytes: 16 * mib, seconds: 1800 },
  /** Differences of two trees: a member for each path. */
  diff: { bytes: 48 * mib, seconds: 300 },
  /** A manifest: a line for each path. */
  manifest: { bytes: 96 * mib, seconds: 300 },
  file: { bytes: maxFileBytes, seconds: 300 },
  parts: { bytes: maxPartsBytes, seconds: 300 },
  /** Streams that are never held whole. */
  exec: { bytes: 512 * mib, seconds: execBounds.maxTimeoutSeconds + 120 },
  log: { bytes: maxLogBytes, seconds: 1800 },
  spill: { bytes: execBounds.outputLimitBytes + execBounds.maxSpillBytes, seconds: 1800 },
  tree: { bytes: 2 * maxTreeBytes, seconds: 3600 },
} as const satisfies Readonly<Record<string, AnswerBound>>;

/** The refusal of an answer that is longer than its route's may be. */
export function tooLarge(path: string, bytes: number): KeeperRefusal {
  return KeeperRefusal.ofAnswer('AF_ANSWER_TOO_LARGE', `the answer to ${path} has more than the ${bytes} bytes that it may have`);
}

/** Reads a body whole. @throws KeeperRefusal `AF_ANSWER_TOO_LARGE`, without reading on */
export async function readWhole(body: AsyncIterable<Uint8Array>, path: string, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of counted(body, path, maxBytes)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Yields the body until it exceeds the limit. @throws KeeperRefusal `AF_ANSWER_TOO_LARGE` */
async function* counted(body: AsyncIterable<Uint8Array>, path: string, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge(path, maxBytes);
    yield chunk;
  }
}

/** Like {@link counted}, as a stream; destroying it destroys the body. `onClose` is called when the stream is over. */
export function limited(body: Readable, path: string, maxBytes: number, onClose: () => void): Readable {
  let bytes = 0;
  const limit = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > maxBytes) done(tooLarge(path, maxBytes));
      else done(null, chunk);
    },
  });
  // The stream reports the error to its reader.
  return pipeline(body, limit, () => onClose());
}

/** The JSON value of a text. @throws KeeperRefusal `AF_ANSWER_MALFORMED` when it is none, or one of very many members or levels */
function parseAnswer(text: string, what: string): unknown {
  if (!fits(text)) {
    const { depth, members } = jsonBounds;
    throw KeeperRefusal.ofAnswer('AF_ANSWER_MALFORMED', `${what} has more than ${depth} levels or ${members} members`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw KeeperRefusal.ofAnswer('AF_ANSWER_MALFORMED', `${what} is no JSON: ${text.slice(0, 100)}`);
  }
}

const codes = { quote: 0x22, backslash: 0x5c, comma: 0x2c } as const;
const opening: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const closing: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** Counts levels and members without building them. Text that is not JSON may pass: the parser refuses it. */
function fits(text: string): boolean {
  let [depth, members, inString] = [0, 0, false];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === codes.quote) inString = !inString;
    else if (inString) at += code === codes.backslash ? 1 : 0;
    else if (closing.has(code)) depth -= 1;
    else if (code === codes.comma) members += 1;
    else if (opening.has(code)) {
      depth += 1;
      members += 1;
    }
    if (depth > jsonBounds.depth || members > jsonBounds.members) return false;
  }
  return true;
}

/**
 * Splits a byte stream into JSON values, one a line (NDJSON). A last line without its newline is
 * a torn answer and is refused, so that a cut connection never looks like an end.
 *
 * @throws KeeperRefusal `AF_ANSWER_TOO_LARGE`, `AF_ANSWER_MALFORMED`
 */
export async function* readLines<T>(source: AsyncIterable<Uint8Array>): AsyncGenerator<T> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of source) {
    rest += decoder.write(Buffer.from(chunk));
    let from = 0;
    for (let at = rest.indexOf('\n', from); at >= 0; at = rest.indexOf('\n', from)) {
      if (at > from) yield parseAnswer(rest.slice(from, at), 'a line') as T;
      from = at + 1;
    }
    rest = rest.slice(from);
    if (rest.length > maxLineCharacters)
      throw KeeperRefusal.ofAnswer('AF_ANSWER_TOO_LARGE', `a line has more than ${maxLineCharacters} characters`);
  }
  if (rest.length > 0) throw new Error('the NDJSON stream was cut in the middle of a line');
}

/** Address and credentials for one keeper. */
export interface KeeperClientOptions {
  /** For example `http://10.244.0.7:7070`. */
  readonly baseUrl: string;
  /** Called for every request, so that a rotated token is picked up. */
  readonly token: () => string | Promise<string>;
  /** Epoch of the assignment; the keeper refuses lower ones than it has seen. */
  readonly epoch: number;
  readonly dispatcher?: Dispatcher;
  /** Calls back after `ms` unless the function returned is called; default: a timer of the process. For tests. */
  readonly after?: (ms: number, run: () => void) => () => void;
}

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly json?: unknown;
  readonly bytes?: Readable | Uint8Array;
  readonly tar?: Readable | Uint8Array;
  readonly signal?: AbortSignal | undefined;
  /** Bounds of the answer; default: those of a small one. */
  readonly bound?: AnswerBound;
}

/** An answer whose body is a stream with a bound. */
export interface Streamed {
  readonly body: Readable;
  readonly headers: Dispatcher.ResponseData['headers'];
}

interface Asked {
  readonly response: Dispatcher.ResponseData;
  /** Stops the time limit; the answer is complete. */
  readonly end: () => void;
}

function processTimer(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms).unref();
  return () => clearTimeout(timer);
}

/** Requests to one keeper, each with a fresh token and the epoch. */
export class Transport {
  readonly #options: KeeperClientOptions;
  readonly #dispatcher: Dispatcher;

  constructor(options: KeeperClientOptions) {
    this.#options = options;
    const silence = 3 * execBounds.keepaliveSeconds * 1000; // three missed keepalives: the peer is gone
    this.#dispatcher = options.dispatcher ?? new Agent({ bodyTimeout: silence, headersTimeout: 120_000, keepAliveTimeout: 10_000 });
  }

  async close(): Promise<void> {
    await this.#dispatcher.close();
  }

  async json<T>(call: Call): Promise<T> {
    const text = (await this.bytes(call)).toString('utf8');
    return (text === '' ? undefined : parseAnswer(text, `the answer to ${call.path}`)) as T;
  }

  async bytes(call: Call): Promise<Buffer> {
    const { response, end } = await this.#send(call);
    try {
      return await readWhole(response.body, call.path, boundOf(call).bytes);
    } finally {
      end();
    }
  }

  async *lines<T>(call: Call): AsyncGenerator<T> {
    const { response, end } = await this.#send(call);
    try {
      yield* readLines<T>(counted(response.body, call.path, boundOf(call).bytes));
    } finally {
      end();
    }
  }

  /** Read the body to its end or destroy it. */
  async stream(call: Call): Promise<Streamed> {
    const { response, end } = await this.#send(call);
    return { body: limited(response.body, call.path, boundOf(call).bytes, end), headers: response.headers };
  }

  async #send(call: Call): Promise<Asked> {
    const { seconds } = boundOf(call);
    const late = new AbortController();
    const words = `the answer to ${call.path} was not whole within ${seconds} s`;
    const after = this.#options.after ?? processTimer;
    const end = after(seconds * 1000, () => late.abort(KeeperRefusal.ofAnswer('AF_ANSWER_LATE', words)));
    try {
      const signal = call.signal === undefined ? late.signal : AbortSignal.any([call.signal, late.signal]);
      return { response: await this.#request(call, signal), end };
    } catch (error) {
      end();
      throw error;
    }
  }

  async #request(call: Call, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const url = new URL(call.path, this.#options.baseUrl);
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const body = call.tar ?? call.bytes ?? (call.json === undefined ? null : JSON.stringify(call.json));
    const response = await request(url, {
      method: call.method,
      dispatcher: this.#dispatcher,
      body,
      signal,
      headers: {
        authorization: `Bearer ${await this.#options.token()}`,
        [epochHeader]: String(this.#options.epoch),
        ...outgoingHeaders(),
        ...(body === null ? {} : { 'content-type': mediaType(call) }),
      },
    });
    if (response.statusCode < 300) return response;
    const said = await readWhole(response.body, call.path, maxRefusalBytes);
    throw KeeperRefusal.from(response.statusCode, said.toString('utf8'));
  }
}

function boundOf({ bound = answerBounds.small }: Call): AnswerBound {
  return bound;
}

function mediaType(call: Call): string {
  if (call.tar !== undefined) return 'application/x-tar';
  return call.bytes === undefined ? 'application/json' : 'application/octet-stream';
}

/** A finished command. Outputs hold the bytes that the keeper kept, decoded to UTF-8 text. */
export interface ExecResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly end: ExecEnd;
}

/** Collects a command's events. Rejects when the stream stops before the command's end, or brings more output than it may. */
export async function collect(events: AsyncIterable<ExecEvent>): Promise<ExecResult> {
  const parts: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] };
  let kept = 0;
  let end: ExecEnd | undefined;
  // Read to the end of the stream, not only to the end event: a body that is left unread costs its connection.
  for await (const event of events) {
    if (event.type === 'end') end = event;
    if (event.type !== 'out') continue;
    const bytes = bytesOf(event);
    kept += bytes.length;
    if (kept > 2 * execBounds.outputLimitBytes)
      throw KeeperRefusal.ofAnswer('AF_ANSWER_TOO_LARGE', 'the keeper sent more output of a command than it may');
    append(parts[event.stream], bytes);
  }
  if (end !== undefined) {
    return { stdout: Buffer.concat(parts.stdout).toString('utf8'), stderr: Buffer.concat(parts.stderr).toString('utf8'), end };
  }
  throw new Error('the stream of the command stopped before its end; follow it from the last sequence number');
}

function bytesOf(event: Extract<ExecEvent, { type: 'out' }>): Buffer {
  const [text, encoding] = 'text' in event ? ([event.text, 'utf8'] as const) : ([event.b64, 'base64'] as const);
  // A keeper may be hostile: from an object with a length, Buffer.from would make a buffer of that length.
  if (typeof text === 'string' && (event.stream === 'stdout' || event.stream === 'stderr')) return Buffer.from(text, encoding);
  throw KeeperRefusal.ofAnswer('AF_ANSWER_MALFORMED', 'an event of a command has output that is no text');
}

/** Most pieces held separately; one buffer for each byte would cost a hundred times as much. */
const mostPieces = 4096;

function append(parts: Buffer[], bytes: Buffer): void {
  if (bytes.length === 0) return;
  if (parts.length >= mostPieces) parts.splice(0, parts.length, Buffer.concat(parts));
  parts.push(bytes);
}

/** Faults of an answer itself, independent of its content. */
const answerFaults = {
  AF_UNREADABLE: 'check that this address is a keeper',
  AF_ANSWER_TOO_LARGE: 'replace the sandbox: what answers is no keeper of this version',
  AF_ANSWER_LATE: 'replace the sandbox: its keeper does not end what it began',
  AF_ANSWER_MALFORMED: 'replace the sandbox: what answers is no keeper of this version',
} as const;
type AnswerFault = keyof typeof answerFaults;

/** Characters of a refusal's words; those of a hostile keeper end in logs and conditions. */
const mostCharacters = 4096;

/** The keeper's refusal, with its code and cure, or the client's own refusal of an answer. `status` is the HTTP status. */
export class KeeperRefusal extends Error {
  readonly code: KeeperErrorCode | AnswerFault;
  readonly status: number;
  readonly cure: string;
  constructor(status: number, code: KeeperErrorCode | AnswerFault, message: string, cure: string) {
    super(`${code}: ${message} (${cure})`);
    this.name = 'KeeperRefusal';
    this.code = code;
    this.status = status;
    this.cure = cure;
  }

  /** Reads a refusal from the body of an answer; an answer that is no ErrorBody keeps its first words. */
  static from(status: number, body: string): KeeperRefusal {
    try {
      const { error } = JSON.parse(body) as ErrorBody;
      if (typeof error.code === 'string' && error.code in keeperErrors) {
        const [message, cure] = [error.message, error.cure].map((words: unknown) => String(words).slice(0, mostCharacters));
        return new KeeperRefusal(status, error.code as KeeperErrorCode, message ?? '', cure ?? '');
      }
    } catch {
      // not JSON: reported below
    }
    return new KeeperRefusal(status, 'AF_UNREADABLE', `HTTP ${status}: ${body.slice(0, 200)}`, answerFaults.AF_UNREADABLE);
  }

  static ofAnswer(code: AnswerFault, message: string): KeeperRefusal {
    return new KeeperRefusal(200, code, message, answerFaults[code]);
  }
}
