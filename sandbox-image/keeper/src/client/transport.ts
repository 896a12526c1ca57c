import type { Readable } from 'node:stream';
import { Agent, request, type Dispatcher } from 'undici';
import { epochHeader, execBounds } from '@agentfleet/protocol/keeper';
import { counted, limited, parseAnswer, readWhole } from './answer.ts';
import { answerBounds, maxRefusalBytes, type AnswerBound } from './bounds.ts';
import { KeeperRefusal } from './errors.ts';
import { readLines } from './ndjson.ts';

/** Where a keeper is and who calls it. */
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
  /** What the answer may cost; default: that of a small one. */
  readonly bound?: AnswerBound;
}

/** An answer whose body is a stream with a bound. */
export interface Streamed {
  readonly body: Readable;
  readonly headers: Dispatcher.ResponseData['headers'];
}

/** A request with its time. */
interface Asked {
  readonly response: Dispatcher.ResponseData;
  /** Ends the time; nothing more comes. */
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
    const silence = 3 * execBounds.keepaliveSeconds * 1000; // three missed keepalives: nobody is there any more
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
