import { createHash } from 'node:crypto';
import { readContent } from '../content.ts';
import { StoreFailure } from '../failure.ts';
import { assertKey } from '../key.ts';
import type { ArtifactStore, StoredArtifact, StoredEntry } from '../store.ts';
import { S3Client, type S3ClientOptions } from './client.ts';
import { locate, type BucketAddress, type Location } from './location.ts';
import { readPage } from './xml.ts';

export interface S3StoreOptions extends S3ClientOptions, BucketAddress {
  /** Folder for what arrives as a stream. */
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
  readonly #location: Location;
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
      // A key that ends in `/` is how some programs mark a folder; ours never do.
      for (const { key, ...told } of read.entries) {
        if (key.startsWith(whole) && !key.endsWith('/')) found.set(key.slice(own), { ...told, key: key.slice(own) });
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
