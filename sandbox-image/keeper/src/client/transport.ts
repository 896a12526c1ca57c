import type { Readable } from 'node:stream';
import { Agent, request, type Dispatcher } from 'undici';
import { epochHeader, execBounds } from '@agentfleet/protocol/keeper';
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
}

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly json?: unknown;
  readonly bytes?: Readable | Uint8Array;
  readonly tar?: Readable | Uint8Array;
  readonly signal?: AbortSignal | undefined;
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
    const response = await this.send(call);
    const text = await response.body.text();
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  async bytes(call: Call): Promise<Buffer> {
    return Buffer.from(await (await this.send(call)).body.arrayBuffer());
  }

  async *lines<T>(call: Call): AsyncGenerator<T> {
    const response = await this.send(call);
    yield* readLines<T>(response.body);
  }

  async send(call: Call): Promise<Dispatcher.ResponseData> {
    const url = new URL(call.path, this.#options.baseUrl);
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const body = call.tar ?? call.bytes ?? (call.json === undefined ? null : JSON.stringify(call.json));
    const response = await request(url, {
      method: call.method,
      dispatcher: this.#dispatcher,
      body,
      headers: {
        authorization: `Bearer ${await this.#options.token()}`,
        [epochHeader]: String(this.#options.epoch),
        ...(body === null ? {} : { 'content-type': mediaType(call) }),
      },
      ...(call.signal === undefined ? {} : { signal: call.signal }),
    });
    if (response.statusCode >= 300) throw KeeperRefusal.from(response.statusCode, await response.body.text());
    return response;
  }
}

function mediaType(call: Call): string {
  if (call.tar !== undefined) return 'application/x-tar';
  return call.bytes === undefined ? 'application/json' : 'application/octet-stream';
}
