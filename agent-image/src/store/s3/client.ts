import { AwsV4Signer } from 'aws4fetch';
import { Agent, request as send, type Dispatcher } from 'undici';
import { asError, Backoff, deadline, sleep, type Clock, type Random } from '@agentfleet/kube';
import { collect, type Content } from '../content.ts';
import { StoreFailure } from '../failure.ts';
import { readCredential, type Credential } from './credential.ts';
import { refusalOf, type Refusal } from './refusal.ts';

export interface S3ClientOptions {
  readonly region: string;
  /** Absent: requests are not signed. */
  readonly credentialFile?: string;
  /** PEM certificates to trust instead of the system's. */
  readonly ca?: string;
  readonly clock: Clock;
  readonly random: Random;
  /** How long a request is tried again, ms. */
  readonly patienceMs: number;
}

/** One request to S3. */
export interface S3Request {
  readonly method: 'GET' | 'PUT' | 'DELETE';
  readonly url: URL;
  /** Names the request in messages, such as `put team-a/x.patch to s3://agents`. */
  readonly what: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly content?: Content;
}

/** A successful answer. */
export interface S3Answer {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

const emptySha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
/** Longest that one try may take, ms: the largest artifact at half a MiB a second. */
const tryMs = 128_000;
const silenceMs = 30_000;
const maxErrorBytes = 64 * 1024;
const retries = { baseMs: 200, factor: 2, capMs: 5000, jitter: 0.5, resetMs: 60_000 };

type Try = { readonly answer: S3Answer } | Refusal;

/** Sends signed requests, again while the store is busy or not there. */
export class S3Client {
  readonly #options: S3ClientOptions;
  readonly #dispatcher: Agent;

  constructor(options: S3ClientOptions) {
    this.#options = options;
    const connect = { timeout: 5000, ...(options.ca === undefined ? {} : { ca: options.ca }) };
    this.#dispatcher = new Agent({ connect, connections: 16, headersTimeout: silenceMs, bodyTimeout: silenceMs });
  }

  /** Rejects with the signal's reason or a StoreFailure. All our requests may be repeated: they say what must be, not what to add. */
  async request(wanted: S3Request, signal?: AbortSignal): Promise<S3Answer> {
    const { clock, random, patienceMs } = this.#options;
    const backoff = new Backoff(retries, clock, random);
    const until = clock.monotonic() + patienceMs;
    for (;;) {
      signal?.throwIfAborted();
      const tried = await this.#try(wanted, signal);
      if ('answer' in tried) return tried.answer;
      signal?.throwIfAborted();
      const wait = tried.retryMs === undefined ? undefined : Math.max(tried.retryMs, backoff.next());
      if (wait === undefined || clock.monotonic() + wait > until) throw tried.failure;
      await sleep(clock, wait, signal);
    }
  }

  async #try(wanted: S3Request, signal: AbortSignal | undefined): Promise<Try> {
    const { credentialFile, clock } = this.#options;
    const credential = credentialFile === undefined ? undefined : await readCredential(credentialFile);
    const limit = deadline(clock, tryMs, signal);
    try {
      return await this.#send(wanted, credential, limit.signal);
    } catch (error) {
      if (error instanceof StoreFailure) return { failure: error, retryMs: undefined };
      const why = limit.expired() ? `not done within ${tryMs / 1000} s` : reasonOf(error);
      return { failure: new StoreFailure('Unavailable', `${wanted.what}: ${why}`, { cause: error }), retryMs: 0 };
    } finally {
      limit.dispose();
    }
  }

  async #send(wanted: S3Request, credential: Credential | undefined, signal: AbortSignal): Promise<Try> {
    const { content, method, url, what } = wanted;
    const headers = await this.#sign(wanted, credential);
    if (content !== undefined) headers['content-length'] = String(content.bytes);
    const body = content === undefined ? null : content.body();
    const response = await send(url, { method, headers, body, signal, dispatcher: this.#dispatcher });
    if (response.statusCode >= 200 && response.statusCode < 300) {
      return { answer: { headers: response.headers, body: await collect(response.body) } };
    }
    const text = await beginningOf(response);
    const seconds = Number(response.headers['retry-after'] ?? 0);
    const retryAfterMs = Number.isFinite(seconds) ? Math.max(0, seconds) * 1000 : 0;
    return refusalOf(what, { status: response.statusCode, body: text, retryAfterMs }, credential?.secretAccessKey);
  }

  async #sign({ method, url, headers, content }: S3Request, credential: Credential | undefined): Promise<Record<string, string>> {
    const plain = { ...headers, 'x-amz-content-sha256': content?.sha256 ?? emptySha256 };
    if (credential === undefined) return plain;
    const datetime = new Date(this.#options.clock.now()).toISOString().replaceAll(/[:-]|\.\d{3}/g, '');
    const signer = new AwsV4Signer({
      method,
      url: url.href,
      headers: plain,
      ...credential,
      service: 's3',
      region: this.#options.region,
      datetime,
    });
    return Object.fromEntries((await signer.sign()).headers);
  }
}

/** Connection errors of undici carry the reason as their cause, sometimes several of them without a message. */
function reasonOf(error: unknown): string {
  const { message, cause } = asError(error);
  const inner = cause === undefined ? '' : asError(cause).message;
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
  return [message, inner, code].find((words) => words !== '') ?? 'the connection failed';
}

/** The error in an answer; what is longer than any error of S3 is cut. */
async function beginningOf(response: Dispatcher.ResponseData): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    chunks.push(Buffer.from(chunk));
    bytes += chunk.length;
    if (bytes >= maxErrorBytes) break;
  }
  return Buffer.concat(chunks).toString('utf8').slice(0, maxErrorBytes);
}
