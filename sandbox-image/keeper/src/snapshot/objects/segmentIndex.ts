import fs from 'node:fs';
import { HEADER_BYTES, readHeader } from './record.ts';
import { listSegments, segmentPath, type LogEnd } from './segmentLog.ts';

/**
 * Where each object lies: raw hash → `offset × 65536 + segment`, one number instead of an object
 * per entry (4 TiB of segments, 128 GiB in one). The length is in the record's header.
 */
export type ObjectIndex = Map<string, number>;

const SEGMENT_SPAN = 65_536;

export function packLocation(segment: number, offset: number): number {
  return offset * SEGMENT_SPAN + segment;
}

export function unpackLocation(location: number): LogEnd {
  return { segment: location % SEGMENT_SPAN, offset: Math.floor(location / SEGMENT_SPAN) };
}

/** Reads the record headers of one segment into the index; returns the end of its last whole record. */
function indexSegment(path: string, segment: number, index: ObjectIndex): number {
  const fd = fs.openSync(path, 'r');
  try {
    const size = fs.fstatSync(fd).size;
    const header = Buffer.allocUnsafe(HEADER_BYTES);
    for (let at = 0; ;) {
      if (fs.readSync(fd, header, 0, HEADER_BYTES, at) < HEADER_BYTES) return at;
      const record = readHeader(header, 0);
      if (record === null || at + HEADER_BYTES + record.length > size) return at;
      index.set(record.hash, packLocation(segment, at));
      at += HEADER_BYTES + record.length;
    }
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * Rebuilds the index. `end` is where the newest snapshot left the log: nothing behind it belongs
 * to a snapshot, so an unfinished take, torn or whole, is cut off. `'unknown'` (the newest
 * snapshot's file is damaged) cuts nothing. Returns where the log goes on: in a fresh segment when
 * the last one is damaged or shorter than it should be.
 */
export function openIndex(dir: string, end: LogEnd | 'unknown', index: ObjectIndex): LogEnd {
  let last: LogEnd = end === 'unknown' ? { segment: 1, offset: 0 } : end;
  let intact = end !== 'unknown';
  for (const segment of listSegments(dir)) {
    const path = segmentPath(dir, segment);
    if (end !== 'unknown' && (segment > end.segment || (segment === end.segment && end.offset === 0))) {
      fs.rmSync(path);
      continue;
    }
    if (end !== 'unknown' && segment === end.segment && fs.statSync(path).size > end.offset) fs.truncateSync(path, end.offset);
    const offset = indexSegment(path, segment, index);
    if (end === 'unknown') last = { segment, offset };
    else if (segment === end.segment) intact = offset === end.offset;
  }
  return intact ? last : { segment: last.segment + 1, offset: 0 };
}
