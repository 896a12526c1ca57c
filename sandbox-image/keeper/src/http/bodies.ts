import type { IncomingMessage } from 'node:http';
import { type Redaction, type RedactionCounts, epochHeader, redactedHeader } from '@agentfleet/protocol/keeper';
import { buffer } from 'node:stream/consumers';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Redacting } from '@agentfleet/protocol/redact';
import type { OpenedFile } from '../files/index.ts';
import type { Keeper } from '../keeper/keeper.ts';
import { Readable } from 'node:stream';
import { KeeperError } from '../base/failure.ts';
import type { Release } from '../base/gate.ts';

/** A read, for the event log. */
export interface Reading {
  readonly what: 'Bytes' | 'Lines' | 'List' | 'Search' | 'Diff' | 'Tree' | 'RevertBundle';
  readonly name: string;
  readonly redaction: Redaction | undefined;
}

/** Files up to this size are scanned before the first byte of the answer, so that its header has the counts. */
const heldBytes = 1024 * 1024;

/**
 * An answer without secrets, and how many were in it; or the exact one, which is noted.
 *
 * @param redacting what has taken secrets out of parts of it already
 */
export function redacted<T extends object>(
  keeper: Keeper,
  reading: Reading,
  answer: T,
  redacting: Redacting = keeper.parts.redaction.open(),
): T & { redacted?: RedactionCounts } {
  if (reading.redaction === 'Raw') {
    noteRaw(keeper, reading);
    return answer;
  }
  const shown = redacting.value(answer);
  const { counts } = redacting;
  if (counts === null) return shown;
  noteCounts(keeper, reading, counts);
  return { ...shown, redacted: counts };
}

/** The bytes of a file without secrets; or the exact ones, which is noted. */
export async function sendRedacted(
  keeper: Keeper,
  reading: Reading,
  { bytes, content }: OpenedFile,
  reply: FastifyReply,
): Promise<FastifyReply> {
  reply.type('application/octet-stream');
  if (reading.redaction === 'Raw') {
    noteRaw(keeper, reading);
    return reply.header('content-length', bytes).send(content);
  }
  const redacting = keeper.parts.redaction.open();
  const note = (): void => (redacting.counts === null ? undefined : noteCounts(keeper, reading, redacting.counts));
  if (bytes > heldBytes) {
    const stream = redacting.stream().once('close', note);
    content.once('error', (error) => stream.destroy(error));
    stream.once('close', () => content.destroy());
    return reply.send(content.pipe(stream));
  }
  const whole = redacting.bytes(await buffer(content));
  note();
  const counts = Object.entries(redacting.counts ?? {}).map(([kind, count]) => `${kind}=${count}`);
  return reply.headers(counts.length === 0 ? {} : { [redactedHeader]: counts.join(',') }).send(whole);
}

/** Notes that exact bytes left, as some answers are by their nature. */
export function noteRaw({ parts: { log, metrics, redaction } }: Keeper, { what, name }: Pick<Reading, 'what' | 'name'>): void {
  metrics.rawReads.inc();
  log.append('RawRead', { what, name: redaction.open().text(name) });
}

function noteCounts({ parts: { log, redaction } }: Keeper, { what, name }: Reading, counts: RedactionCounts): void {
  log.append('Redacted', { what, name: redaction.open().text(name), counts });
}

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

/** The epoch header of a request, unparsed. */
export function epochOf({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const value = headers[epochHeader];
  return Array.isArray(value) ? value[0] : value;
}

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
