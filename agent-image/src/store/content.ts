import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { StoreFailure } from './failure.ts';

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
 * Makes content sendable: what comes as a stream is first written to a file in `spool`, because a
 * signature needs its hash and a second try needs it again. @throws StoreFailure `TooLarge`
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
  if (bytes <= maxArtifactBytes) return;
  throw new StoreFailure('TooLarge', `the artifact has ${bytes} bytes or more, ${maxArtifactBytes} are allowed`);
}

/** Collects a stored artifact. @throws StoreFailure `TooLarge` */
export async function collect(from: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of from) {
    bytes += chunk.length;
    assertSize(bytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
