import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

/**
 * Answers with newline-delimited JSON. The lines are pulled as fast as the caller reads them; when
 * the caller leaves, the signal fires and the generator ends.
 */
export function sendLines(reply: FastifyReply, lines: (signal: AbortSignal) => AsyncIterable<Buffer>): FastifyReply {
  const left = new AbortController();
  reply.raw.once('close', () => left.abort());
  const body = Readable.from(untilAborted(lines(left.signal), left.signal), { objectMode: false });
  return reply.type('application/x-ndjson').header('cache-control', 'no-store').send(body);
}

/** A caller that left is no error. */
async function* untilAborted(lines: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    yield* lines;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
