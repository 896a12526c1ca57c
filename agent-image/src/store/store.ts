import type { Readable } from 'node:stream';

/** A file that was stored. */
export interface StoredArtifact {
  /** Address for people and programs: `s3://bucket/key` or `pvc://claim/path`. */
  readonly uri: string;
  readonly sha256: string;
  readonly bytes: number;
}

/** Keeps artifacts under keys with `/`, such as `team-a/fix-parser/0b1c…/change.patch`. */
export interface ArtifactStore {
  /** Stores the whole content or nothing; an existing key is replaced. Rejects with a StoreFailure. */
  put(key: string, content: Uint8Array | string | Readable, contentType: string, signal?: AbortSignal): Promise<StoredArtifact>;
  get(key: string, signal?: AbortSignal): Promise<Buffer>;
  /** Keys under a prefix, sorted. */
  list(prefix: string, signal?: AbortSignal): Promise<readonly string[]>;
  /** Removes keys; those that are not there are no error. */
  remove(keys: readonly string[], signal?: AbortSignal): Promise<void>;
}
