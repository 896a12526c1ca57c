import type { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { KeeperError } from '../base/failure.ts';
import type { Release } from '../base/gate.ts';
import type { Keeper } from '../keeper/keeper.ts';

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

/** After this time without a byte the reader loses the gate, ms. */
const idleMs = 30_000;

/** Gives the gate back when an answer has been read. A reader that stops reading, or whose assignment ends, is cut off. */
export function holdUntilRead({ parts }: Keeper, { epoch, raw }: FastifyRequest, answer: Readable, release: Release): void {
  const { socket } = raw;
  const cut = (): void => {
    socket.destroy();
    answer.destroy();
  };
  socket.setTimeout(idleMs, cut);
  answer.once('close', parts.transfers.begin(epoch, release, cut));
  answer.once('close', () => {
    socket.off('timeout', cut);
    socket.setTimeout(0);
  });
}
