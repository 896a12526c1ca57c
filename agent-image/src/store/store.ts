import type { Readable } from 'node:stream';

/** A file that was stored. */
export interface StoredArtifact {
  /** Address for people and programs: `s3://bucket/key` or `pvc://claim/path`. */
  readonly uri: string;
  readonly sha256: string;
  readonly bytes: number;
}

/** A key and what the store knows of it. */
export interface StoredEntry {
  readonly key: string;
  readonly bytes: number;
  /** When it was last put, ms since 1970 by the clock of the store; S3 knows whole seconds. */
  readonly modifiedAt: number;
}

/** Keeps artifacts under keys with `/`, such as `team-a/fix-parser/0b1c…/change.patch`. */
export interface ArtifactStore {
  /** Stores the whole content or nothing; an existing key is replaced. Rejects with a StoreFailure. */
  put(key: string, content: Uint8Array | string | Readable, contentType: string, signal?: AbortSignal): Promise<StoredArtifact>;
  get(key: string, signal?: AbortSignal): Promise<Buffer>;
  /** Keys under a prefix, sorted. */
  list(prefix: string, signal?: AbortSignal): Promise<readonly string[]>;
  /** The same with sizes and times. */
  entries(prefix: string, signal?: AbortSignal): Promise<readonly StoredEntry[]>;
  /** Removes keys; those that are not there are no error. */
  remove(keys: readonly string[], signal?: AbortSignal): Promise<void>;
}
