import { createHash } from 'node:crypto';
import { corrupt } from './corrupt.ts';
import { isZero } from './holes.ts';
import { HEADER_BYTES, writeHeader } from './record.ts';
import type { LogEnd, SegmentLog } from './segmentLog.ts';

/** A content that arrives in parts. Its header is written last: a torn one has none. */
export interface Incoming {
  append(part: Buffer): void;
  /** @throws AF_SNAPSHOT_OBJECT_CORRUPT when it is not what its name says; the log is as it was then */
  finish(): void;
  /** Takes back what was appended. */
  drop(): void;
}

/** Begins a content at the end of the log. `found` is told where it lies once it is known to be right. */
export function openIncoming(log: SegmentLog, hash: string, size: number, found: (at: LogEnd) => void): Incoming {
  log.flush();
  log.reserve(0);
  const start = log.end();
  const sha = createHash('sha256');
  let length = 0;
  log.appendDirect(Buffer.alloc(HEADER_BYTES), HEADER_BYTES);
  return {
    append: (part) => {
      length += part.length;
      sha.update(part);
      if (isZero(part)) log.appendHole(part.length);
      else log.appendDirect(part, part.length);
    },
    finish: () => {
      if (length !== size || sha.digest('binary') !== hash) {
        log.rewind(start);
        throw corrupt(hash, 'arrived damaged');
      }
      const header = Buffer.alloc(HEADER_BYTES);
      writeHeader(header, 0, { hash, length: size });
      log.patch(header, HEADER_BYTES, start.offset);
      found(start);
    },
    drop: () => log.rewind(start),
  };
}
