import { Readable } from 'node:stream';
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { bytesWithin } from '../base/requests.ts';

/** A file that was stored. */
export interface StoredArtifact {
  /** Address for people and programs: `s3://bucket/key` or `pvc://claim/path`. */
  readonly uri: string;
  readonly sha256: string;
  readonly bytes: number;
}

/** A key and the store's metadata. */
export interface StoredEntry {
  readonly key: string;
  readonly bytes: number;
  /** Time at which it was last put, ms since 1970 by the clock of the store; S3 has whole seconds. */
  readonly modifiedAt: number;
  /** Another one for another content, without quotes; absent where the store names none. */
  readonly etag?: string;
}

/** Keeps artifacts under keys with `/`, such as `team-a/fix-parser/0b1c…/change.patch`. */
export interface ArtifactStore {
  /** Stores the whole content or nothing; an existing key is replaced. Rejects with a StoreFailure. */
  put(key: string, content: Uint8Array | string | Readable, contentType: string, signal?: AbortSignal): Promise<StoredArtifact>;
  get(key: string, signal?: AbortSignal): Promise<Buffer>;
  /** Keys under a prefix, sorted. */
  list(prefix: string, signal?: AbortSignal): Promise<readonly string[]>;
  /** Like {@link list}, with sizes and times. */
  entries(prefix: string, signal?: AbortSignal): Promise<readonly StoredEntry[]>;
  /** Removes keys; those that are not there are no error. */
  remove(keys: readonly string[], signal?: AbortSignal): Promise<void>;
}

/**
 * Reason why a store failed, independent of its kind, and the usual cure. `Unavailable`: it did not answer, or asked for a
 * later retry, for as long as it was tried.
 */
const cures = {
  Changed: 'begin anew: it was replaced meanwhile',
  Corrupt: 'store it again; when it comes back, look at the disks of the store',
  Credential: 'correct the Secret of the credential: access key id, a colon, secret key',
  Denied: 'allow the credential to read, write, list and delete below the prefix',
  Full: 'free space in the store, or raise its size or quota',
  InvalidKey: 'use a relative key of ordinary names',
  NoBucket: 'create the bucket, or correct spec.storage.uri of the pool',
  NotFound: 'list the prefix to see what is there',
  Refused: 'check endpoint, region and forcePathStyle in spec.storage of the pool',
  TooLarge: 'store less at a time',
  Unavailable: 'check that the store runs and that the worker may reach it',
} as const;
export type StoreFailureCode = keyof typeof cures;

/** A refusal of a store. The message names fault and place and holds no secret. */
export class StoreFailure extends Error {
  readonly code: StoreFailureCode;
  readonly cure: string;

  constructor(code: StoreFailureCode, message: string, options?: { readonly cure?: string; readonly cause?: unknown }) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'StoreFailure';
    this.code = code;
    this.cure = options?.cure ?? cures[code];
  }
}

/** Largest artifact, in bytes. */
export const maxArtifactBytes = 64 * 1024 * 1024;

/** Content of known length and hash that can be sent more than once. */
export interface Content extends AsyncDisposable {
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
  body(): Buffer | Readable;
}

/**
 * Makes content sendable: a stream is first written to a file in `spool`, because a signature needs its hash and a
 * retry needs it again. @throws StoreFailure `TooLarge`
 */
export async function readContent(from: Uint8Array | string | Readable, spool: string, signal?: AbortSignal): Promise<Content> {
  if (from instanceof Readable) return spoolContent(from, spool, signal);
  const bytes = typeof from === 'string' ? Buffer.from(from, 'utf8') : Buffer.from(from.buffer, from.byteOffset, from.byteLength);
  assertSize(bytes.length);
  return {
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    body: () => bytes,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function spoolContent(from: Readable, spool: string, signal?: AbortSignal): Promise<Content> {
  const path = join(spool, `agentfleet-artifact-${randomUUID()}`);
  const dispose = (): Promise<void> => rm(path, { force: true });
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    await using handle = await open(path, 'wx', 0o600);
    for await (const chunk of from as AsyncIterable<Uint8Array | string>) {
      signal?.throwIfAborted();
      const piece = typeof chunk === 'string' ? Buffer.from(chunk, 'utf8') : chunk;
      bytes += piece.length;
      assertSize(bytes);
      hash.update(piece);
      await handle.appendFile(piece);
    }
  } catch (error) {
    await dispose();
    throw error;
  }
  return { bytes, sha256: hash.digest('hex'), body: () => createReadStream(path), [Symbol.asyncDispose]: dispose };
}

function assertSize(bytes: number): void {
  if (bytes > maxArtifactBytes) throw tooLarge(bytes);
}

const tooLarge = (bytes: number): StoreFailure =>
  new StoreFailure('TooLarge', `the artifact has ${bytes} bytes or more, ${maxArtifactBytes} are allowed`);

/** Collects a stored artifact. @throws StoreFailure `TooLarge` */
export function collect(from: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return bytesWithin(maxArtifactBytes, from, tooLarge);
}

/** Folder of unfinished files in a volume; no key begins with it, in no store. */
export const unfinishedFolder = '.agentfleet-unfinished';

/** S3 allows 1024 bytes, prefix of the pool included. */
const maxKeyBytes = 768;
/** Limit of file systems for a name. */
const maxPartBytes = 255;
const controlCharacter = /\p{Cc}/u;

/** Refuses keys that not every store can hold or that could lead out of one. @throws StoreFailure `InvalidKey` */
export function assertKey(key: string): void {
  const why = faultOf(key);
  if (why !== null) throw new StoreFailure('InvalidKey', `key ${JSON.stringify(key.slice(0, 200))}: ${why}`);
}

function faultOf(key: string): string | null {
  if (controlCharacter.test(key)) return 'it contains a control character';
  if (!key.isWellFormed()) return 'it is no proper Unicode text';
  if (Buffer.byteLength(key) > maxKeyBytes) return `it is longer than ${maxKeyBytes} bytes`;
  const parts = key.split('/');
  if (parts.includes('')) return 'it is empty or has an empty part';
  if (parts.includes('.') || parts.includes('..')) return 'it has a part "." or ".."';
  if (parts[0] === unfinishedFolder) return 'the store keeps unfinished files there';
  return parts.some((part) => Buffer.byteLength(part) > maxPartBytes) ? `a part of it is longer than ${maxPartBytes} bytes` : null;
}
