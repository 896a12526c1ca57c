import { readFile } from 'node:fs/promises';
import {
  StoreFailure,
  collect,
  type Content,
  assertKey,
  readContent,
  type ArtifactStore,
  type StoredArtifact,
  type StoredEntry,
} from './store.ts';
import { AwsV4Signer } from 'aws4fetch';
import { EnvHttpProxyAgent, request as send } from 'undici';
import { deadline, type Clock, type Random } from '@agentfleet/kube';
import { reasonOf } from '../base/failure.ts';
import { type Try, beginningOf, retried, retryAfterMs } from '../base/requests.ts';
import { refusalOf, readPage } from './xml.ts';
import { createHash } from 'node:crypto';
import { WebIdentity, type WebIdentitySettings } from './webIdentity.ts';

interface Credential {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/**
 * Reads `id:secret` at each use, because the kubelet replaces the file when the Secret changes.
 * @throws StoreFailure `Credential`
 */
async function readCredential(file: string): Promise<Credential> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new StoreFailure('Credential', `the credential in ${file} cannot be read`, { cause: error });
  });
  const [, accessKeyId, secretAccessKey] = /^([^:\s]+):(\S+)$/.exec(text.trim()) ?? [];
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    throw new StoreFailure('Credential', `${file} does not hold an access key id, a colon and a secret key`);
  }
  return { accessKeyId, secretAccessKey };
}

interface S3ClientOptions {
  readonly region: string;
  /** Absent: requests are signed by `identity`, and without one not at all. */
  readonly credentialFile?: string;
  readonly identity?: WebIdentitySettings;
  /** Returns the PEM certificates to trust instead of the system's; they may change. */
  readonly ca?: () => string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly maxWaitMs: number;
}

interface S3Request {
  readonly method: 'GET' | 'PUT' | 'DELETE';
  readonly url: URL;
  /** Description of the request in messages, such as `put team-a/x.patch to s3://agents`. */
  readonly what: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly content?: Content;
}

interface S3Answer {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

const emptySha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
/** Longest that one try may take, ms: the largest artifact at half a MiB a second. */
const tryMs = 128_000;
const silenceMs = 30_000;
const maxErrorBytes = 64 * 1024;

/** Sends signed requests, again while the store is busy or not there. */
export class S3Client {
  readonly #options: S3ClientOptions;
  #connected: { readonly ca: string | undefined; readonly dispatcher: EnvHttpProxyAgent } | null = null;
  readonly #identity: WebIdentity | undefined;

  constructor(options: S3ClientOptions) {
    this.#options = options;
    const { identity, region, clock, credentialFile } = options;
    this.#identity = identity === undefined || credentialFile !== undefined ? undefined : new WebIdentity(identity, region, clock);
  }

  /** Connections are kept while the authorities stay; requests that run end on the old ones. */
  #dispatcher(): EnvHttpProxyAgent {
    const ca = this.#options.ca?.();
    if (this.#connected !== null && this.#connected.ca === ca) return this.#connected.dispatcher;
    void this.#connected?.dispatcher.close();
    const connect = { timeout: 5000, ...(ca !== undefined && { ca }) };
    // HTTPS_PROXY and NO_PROXY of the pod count, where the administrator sets them.
    const bounds = { connections: 16, headersTimeout: silenceMs, bodyTimeout: silenceMs };
    this.#connected = { ca, dispatcher: new EnvHttpProxyAgent({ connect, requestTls: connect, ...bounds }) };
    return this.#connected.dispatcher;
  }

  /** Rejects with the signal's reason or a StoreFailure. All requests are idempotent: they set a state. */
  async request(wanted: S3Request, signal?: AbortSignal): Promise<S3Answer> {
    return retried(() => this.#try(wanted, signal), { ...this.#options, signal });
  }

  async #try(wanted: S3Request, signal: AbortSignal | undefined): Promise<Try<S3Answer>> {
    const { clock } = this.#options;
    using limit = deadline(clock, tryMs, signal);
    try {
      return await this.#send(wanted, await this.#credential(), limit.signal);
    } catch (error) {
      if (error instanceof StoreFailure) return { failure: error, retryMs: error.code === 'Unavailable' ? 0 : undefined };
      const why = limit.expired() ? `not done within ${tryMs / 1000} s` : reasonOf(error);
      return { failure: new StoreFailure('Unavailable', `${wanted.what}: ${why}`, { cause: error }), retryMs: 0 };
    }
  }

  async #credential(): Promise<Credential | undefined> {
    const { credentialFile } = this.#options;
    if (credentialFile !== undefined) return readCredential(credentialFile);
    if (this.#identity === undefined) return undefined;
    const { accessKeyId, secretAccessKey, sessionToken } = await this.#identity.session();
    return { accessKeyId, secretAccessKey, sessionToken };
  }

  async #send(wanted: S3Request, credential: Credential | undefined, signal: AbortSignal): Promise<Try<S3Answer>> {
    const { content, method, url, what } = wanted;
    const headers = await this.#sign(wanted, credential);
    if (content !== undefined) headers['content-length'] = String(content.bytes);
    const body = content === undefined ? null : content.body();
    const response = await send(url, { method, headers, body, signal, dispatcher: this.#dispatcher() });
    if (response.statusCode >= 200 && response.statusCode < 300) {
      return { value: { headers: response.headers, body: await collect(response.body) } };
    }
    const answer = {
      status: response.statusCode,
      body: (await beginningOf(maxErrorBytes, response.body)).body.toString('utf8'),
      retryAfterMs: retryAfterMs(response.headers['retry-after']),
    };
    return refusalOf(what, answer, credential?.secretAccessKey);
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

/** A place in a bucket, as the brief of a pool names it. */
interface BucketAddress {
  /** `s3://bucket` or `s3://bucket/prefix`. */
  readonly uri: string;
  readonly endpoint: string;
  /** Whether the bucket is in the path and not in the host name. */
  readonly forcePathStyle: boolean;
}

const form = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/s;

/**
 * Translates keys of the store to keys, addresses and URLs of the bucket. `prefix` of all keys is empty, or ends in `/`.
 *
 * @throws StoreFailure `Refused` for an address that names no bucket, `InvalidKey` for a prefix that is no key
 */
export function locate(address: BucketAddress) {
  const [, bucket, path = ''] = form.exec(address.uri) ?? [];
  if (bucket === undefined) {
    throw new StoreFailure('Refused', `${address.uri} names no bucket`, { cure: 'write spec.storage.uri like s3://bucket/prefix' });
  }
  const folder = path.replace(/\/$/, '');
  if (folder !== '') assertKey(folder);
  const prefix = folder === '' ? '' : `${folder}/`;
  const base = baseUrl(address, bucket);
  return {
    bucket,
    prefix,
    keyUrl: (key: string) => new URL(`${base}/${escaped(prefix + key)}`),
    bucketUrl: (query: Readonly<Record<string, string>>) => {
      const words = Object.entries(query).map(([name, value]) => `${name}=${encode(value)}`);
      return new URL(`${base}${address.forcePathStyle ? '' : '/'}?${words.join('&')}`);
    },
    uri: (key: string) => `s3://${bucket}/${prefix}${key}`,
  };
}

function baseUrl({ endpoint, forcePathStyle }: BucketAddress, bucket: string): string {
  const { protocol, host } = new URL(endpoint);
  return forcePathStyle ? `${protocol}//${host}/${bucket}` : `${protocol}//${bucket}.${host}`;
}

/** The signature is over exactly this form: the signer reads an unescaped `+` as a space. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

function escaped(key: string): string {
  return key.split('/').map(encode).join('/');
}

export interface S3StoreOptions extends S3ClientOptions, BucketAddress {
  readonly spool: string;
}

/** Our own mark, because an ETag is a hash in some stores only. */
const hashHeader = 'x-amz-meta-sha256';
/** Most pages of a listing: a million keys. */
const maxPages = 1000;
/** Removals at once. One request per key is slower than DeleteObjects, which not every store understands. */
const removers = 8;

/** Artifacts in a bucket. */
export class S3Store implements ArtifactStore {
  readonly #client: S3Client;
  readonly #location: ReturnType<typeof locate>;
  readonly #spool: string;

  /** @throws StoreFailure when `uri` names no bucket */
  constructor(options: S3StoreOptions) {
    this.#client = new S3Client(options);
    this.#location = locate(options);
    this.#spool = options.spool;
  }

  async put(key: string, from: Parameters<ArtifactStore['put']>[1], contentType: string, signal?: AbortSignal): Promise<StoredArtifact> {
    assertKey(key);
    signal?.throwIfAborted();
    await using content = await readContent(from, this.#spool, signal);
    const headers = { 'content-type': contentType, [hashHeader]: content.sha256 };
    const url = this.#location.keyUrl(key);
    await this.#client.request({ method: 'PUT', url, what: `put ${this.#location.uri(key)}`, headers, content }, signal);
    return { uri: this.#location.uri(key), sha256: content.sha256, bytes: content.bytes };
  }

  async get(key: string, signal?: AbortSignal): Promise<Buffer> {
    assertKey(key);
    const uri = this.#location.uri(key);
    const { body, headers } = await this.#client.request({ method: 'GET', url: this.#location.keyUrl(key), what: `get ${uri}` }, signal);
    const expected = headers[hashHeader];
    if (typeof expected === 'string' && createHash('sha256').update(body).digest('hex') !== expected) {
      throw new StoreFailure('Corrupt', `get ${uri}: the content is not what was stored`);
    }
    return body;
  }

  /** Bytes of an object, `end` excluded, as long as it has this ETag. */
  async part(key: string, start: number, end: number, etag: string | undefined, signal: AbortSignal): Promise<Buffer> {
    const headers = { range: `bytes=${start}-${end - 1}`, ...(etag === undefined ? {} : { 'if-match': `"${etag}"` }) };
    const url = this.#location.keyUrl(key);
    return (await this.#client.request({ method: 'GET', url, what: `get ${this.#location.uri(key)}`, headers }, signal)).body;
  }

  async list(prefix: string, signal?: AbortSignal): Promise<readonly string[]> {
    return (await this.entries(prefix, signal)).map(({ key }) => key);
  }

  async entries(prefix: string, signal?: AbortSignal): Promise<readonly StoredEntry[]> {
    const whole = this.#location.prefix + prefix;
    const what = `list ${this.#location.uri(prefix)}`;
    const found = new Map<string, StoredEntry>();
    const own = this.#location.prefix.length;
    let next: string | undefined;
    for (let page = 0; page < maxPages; page++) {
      const query = { 'list-type': '2', prefix: whole, ...(next === undefined ? {} : { 'continuation-token': next }) };
      const { body } = await this.#client.request({ method: 'GET', url: this.#location.bucketUrl(query), what }, signal);
      const read = readPage(body.toString('utf8'), what);
      // Some programs mark a folder by a key that ends in `/`; this one never does.
      for (const { key, ...reported } of read.entries) {
        if (key.startsWith(whole) && !key.endsWith('/')) found.set(key.slice(own), { ...reported, key: key.slice(own) });
      }
      if (read.next === undefined) return [...found.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
      next = read.next;
    }
    throw new StoreFailure('TooLarge', `${what}: more than ${maxPages} pages of keys`, { cure: 'list a longer prefix' });
  }

  async remove(keys: readonly string[], signal?: AbortSignal): Promise<void> {
    keys.forEach(assertKey);
    const left = [...new Set(keys)].values();
    const failed = new AbortController();
    const stop = signal === undefined ? failed.signal : AbortSignal.any([signal, failed.signal]);
    const remover = async (): Promise<void> => {
      for (const key of left) await this.#removeOne(key, stop);
    };
    const removing = Array.from({ length: removers }, () =>
      remover().catch((error: unknown) => {
        failed.abort(error); // the first failure ends the others, and all reject with it
        throw error;
      }),
    );
    await Promise.allSettled(removing);
    failed.signal.throwIfAborted();
  }

  async #removeOne(key: string, signal: AbortSignal): Promise<void> {
    const what = `remove ${this.#location.uri(key)}`;
    try {
      await this.#client.request({ method: 'DELETE', url: this.#location.keyUrl(key), what }, signal);
    } catch (error) {
      if (!(error instanceof StoreFailure && error.code === 'NotFound')) throw error;
    }
  }
}
