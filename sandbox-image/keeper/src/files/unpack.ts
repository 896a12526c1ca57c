import { createHash } from 'node:crypto';
import { Transform, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract } from 'tar-stream';
import { maxTreeBytes } from '@agentfleet/protocol/keeper';
import { KeeperError } from '../failure.ts';
import { readEntry } from './treeEntry.ts';
import type { TreeWriter } from './treeWriter.ts';

/**
 * Reads an archive to its end and hands its entries to the writer, one at a time.
 * The sender's stream is never destroyed, so that it can still get an answer.
 *
 * @returns hex SHA-256 of the archive
 * @throws KeeperError `AF_INVALID` for what is no archive, `AF_TOO_LARGE`, and what the writer says
 */
export async function unpackTree(tar: Readable, writer: TreeWriter): Promise<string> {
  const hash = createHash('sha256');
  const meter = meterOf(tar, (chunk) => hash.update(chunk));
  const reader = extract({ filenameEncoding: 'latin1' } as Parameters<typeof extract>[0]);
  const feeding = pipeline(meter, reader);
  feeding.catch(() => undefined); // told by the reader, too
  try {
    for await (const entry of reader) {
      await writer.add(readEntry(entry.header), entry as AsyncIterable<Uint8Array>);
      entry.resume(); // of what has no content of its own
    }
    await feeding;
    await writer.finish();
    return hash.digest('hex');
  } catch (error) {
    throw faultOf(error instanceof KeeperError ? error : (meter.errored ?? error));
  } finally {
    tar.unpipe(meter);
    meter.destroy();
    tar.resume();
  }
}

/** Passes the archive on and counts it. */
function meterOf(tar: Readable, update: (chunk: Buffer) => void): Transform {
  let bytes = 0;
  const meter = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      bytes += chunk.length;
      update(chunk);
      if (bytes > maxTreeBytes) done(new KeeperError('AF_TOO_LARGE', `the archive is over ${maxTreeBytes} bytes`));
      else done(null, chunk);
    },
    flush: (done) => done(bytes === 0 ? new KeeperError('AF_INVALID', 'the body is empty, a tar archive is needed') : null),
  });
  const left = (): void => {
    if (!tar.readableEnded) meter.destroy(new KeeperError('AF_INVALID', 'the sender left before the end of the archive'));
  };
  tar.once('error', left).once('close', left);
  tar.pipe(meter);
  return meter;
}

/** Plain errors are the archive reader's: they tell what is wrong with the archive. */
function faultOf(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if ('code' in error && error.code === 'STREAM_DESTROYED')
    return new KeeperError('AF_INVALID', 'the archive ends in the middle of a file');
  if (error.name !== 'Error' || 'code' in error) return error;
  return new KeeperError('AF_INVALID', `the archive cannot be read: ${error.message}`, { cause: error });
}
