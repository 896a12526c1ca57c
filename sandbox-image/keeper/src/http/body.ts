import type { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { KeeperError } from '../base/failure.ts';

/** The body of a request as a stream. @throws KeeperError `AF_INVALID` when its media type is another */
export function streamOf(request: FastifyRequest, type: 'application/octet-stream' | 'application/x-tar'): Readable {
  const { body, headers } = request;
  const sent = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  if (sent === type && typeof body === 'object' && body !== null && 'pipe' in body) return body as Readable;
  throw new KeeperError('AF_INVALID', `content-type: it must be ${type}`);
}

/** Reads all bytes of a body. @throws KeeperError `AF_TOO_LARGE` when there are more than `most` */
export async function wholeOf(body: Readable, most: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > most) throw new KeeperError('AF_TOO_LARGE', `the body has more than the ${most} bytes that are allowed`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
