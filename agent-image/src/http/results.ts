import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { asError, type Clock, type Log } from '@agentfleet/kube';
import type { ArtifactPlace } from '@agentfleet/protocol/pool';
import { TokenRefused, type AccessConfig, type Gate } from '@agentfleet/protocol/tokens';
import { gateFor } from './metrics.ts';
import { AttemptFailure } from '../base/failure.ts';
import { Waiters } from '../base/waiters.ts';
import { DurableFailure, mirroredLog, readSealer } from '../durable/index.ts';
import { StoreFailure, type ArtifactStore } from '../store/index.ts';

export interface ResultsOptions {
  /** Null: everybody, on a loopback address only. */
  readonly access: AccessConfig | null;
  /** The pool's current store; undefined before the first brief. */
  readonly place: () => ArtifactPlace | undefined;
  readonly openStore: (place: ArtifactPlace) => ArtifactStore;
  readonly clock: Clock;
  readonly log: Log;
}

/** Artifacts in memory at a time: each has 64 MiB at most. */
const readers = 3;

/**
 * Serves the results server, because workers have the keys of the storage or its volume: the mirrored log and the
 * artifacts of one task. It does not authorize readers: its caller has asked the API server.
 */
export class ResultsHandler {
  readonly #options: ResultsOptions;
  readonly #gate: Gate;
  #reading = 0;
  readonly #waiting = new Waiters();

  constructor(options: ResultsOptions) {
    this.#options = options;
    this.#gate = gateFor(options.access, options);
  }

  /** Answers a request below `/results/`; false: it is none. */
  readonly handle = (request: IncomingMessage, response: ServerResponse): boolean => {
    if (request.url?.startsWith('/results/') !== true) return false;
    const gone = new AbortController();
    response.once('close', () => gone.abort(new Error('the caller is gone')));
    this.#answer(request, response, gone.signal).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else this.#refuse(response, error, gone.signal);
    });
    return true;
  };

  #refuse(response: ServerResponse, error: unknown, gone: AbortSignal): void {
    const { status, code, message } = refusalOf(error);
    if (status === 500 && !gone.aborted) this.#options.log.warn('a result could not be read', { error: message });
    response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
    response.end(`${JSON.stringify({ code, message })}\n`);
  }

  async #answer(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
    await this.#gate(request.headers.authorization, 'Work');
    const url = new URL(request.url ?? '/', 'http://localhost');
    const [, kind = '', ...rest] = /^\/results\/v1\/(log|artifacts)\/(.+)$/.exec(url.pathname) ?? [];
    const words = (rest[0] ?? '').split('/').map(decodeURIComponent);
    if (request.method !== 'GET' || words.some((word) => !isName(word))) throw new NotAsked(`no such request: ${url.pathname}`);
    const place = this.#options.place();
    if (place === undefined) throw new StoreFailure('Unavailable', 'the worker does not know the storage of its pool yet');
    const store = this.#options.openStore(place);
    if (kind === 'log' && words.length === 3) return this.#log(response, { store, place, words, since: sinceOf(url) }, signal);
    if (kind === 'artifacts' && words.length === 5) return this.#artifact(response, store, words.join('/'), signal);
    throw new NotAsked(`no such request: ${url.pathname}`);
  }

  async #log(
    response: ServerResponse,
    asked: { readonly store: ArtifactStore; readonly place: ArtifactPlace; readonly words: readonly string[]; readonly since: number },
    signal: AbortSignal,
  ): Promise<void> {
    const { store, place, since } = asked;
    const [namespace = '', , uid = ''] = asked.words;
    const sealer = await readSealer(place.type === 'S3' ? place.encryptionKeyFile : undefined);
    const lines = await mirroredLog({ store, sealer, task: { namespace, uid } }, since, signal);
    if (lines === null) throw new StoreFailure('NotFound', 'nothing of the event log is in the storage');
    response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' });
    await pipeline(Readable.from(lines), response, { signal });
  }

  async #artifact(response: ServerResponse, store: ArtifactStore, key: string, signal: AbortSignal): Promise<void> {
    while (this.#reading >= readers) {
      await this.#waiting.next(signal);
      signal.throwIfAborted();
    }
    this.#reading += 1;
    try {
      const content = await store.get(key, signal);
      const headers = { 'content-type': 'application/octet-stream', 'content-length': content.length, 'cache-control': 'no-store' };
      response.writeHead(200, headers);
      await pipeline(Readable.from(chunksOf(content)), response, { signal });
    } finally {
      this.#reading -= 1;
      this.#waiting.wake();
    }
  }
}

function* chunksOf(content: Buffer): Generator<Buffer> {
  const size = 256 * 1024;
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size);
}

class NotAsked extends Error {}

/** Reports whether a word of a path is one name: no part of a key may lead elsewhere. */
function isName(word: string): boolean {
  return word !== '' && word !== '.' && word !== '..' && !word.includes('/') && !word.includes('\0');
}

function sinceOf(url: URL): number {
  const text = url.searchParams.get('since') ?? '0';
  if (!/^\d{1,15}$/.test(text)) throw new NotAsked(`since=${text} is no number of a record`);
  return Number(text);
}

const statusOf: Readonly<Partial<Record<StoreFailure['code'], number>>> = { NotFound: 404, InvalidKey: 404, Unavailable: 503 };

function refusalOf(error: unknown) {
  if (error instanceof TokenRefused) return { status: error.status, code: 'TokenRefused', message: `token refused: ${error.message}` };
  if (error instanceof NotAsked || error instanceof URIError) return { status: 400, code: 'BadRequest', message: error.message };
  if (error instanceof StoreFailure)
    return { status: statusOf[error.code] ?? 502, code: error.code, message: `${error.message}; ${error.cure}` };
  if (error instanceof DurableFailure) return { status: error.code === 'Missing' ? 404 : 502, code: error.code, message: error.message };
  if (error instanceof AttemptFailure) return { status: 502, code: error.reason, message: error.message };
  return { status: 500, code: 'Internal', message: asError(error).message };
}
