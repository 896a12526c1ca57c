import fs from 'node:fs';
import { promisify } from 'node:util';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { SnapshotError } from '../base/errors.ts';
import { hexOf } from '../base/manifest.ts';
import { readStored, replaceStored, syncDirectory } from './stored.ts';

/** The calls that can run out of space or fail to sync; tests plant faults here. */
export type SegmentFs = Pick<typeof fs, 'writeSync' | 'fdatasync'>;

/** A place in the log: everything before `offset` of `segment`, and all earlier segments. */
export interface LogEnd {
  readonly segment: number;
  readonly offset: number;
}

/** A segment is closed when it has reached this many bytes; a bigger object makes a bigger segment. */
const SEGMENT_BYTES = 64 * 1024 * 1024;
const BUFFER_BYTES = 1024 * 1024;
const MAX_READ_FDS = 8;
const SUFFIX = '.seg';

/** Numbers of the segment files of a directory, ascending. */
export function listSegments(dir: string): number[] {
  const names = fs.readdirSync(dir).filter((name) => /^\d{6}\.seg$/.test(name));
  return names.map((name) => Number.parseInt(name, 10)).sort((a, b) => a - b);
}

export function segmentPath(dir: string, segment: number): string {
  return join(dir, `${String(segment).padStart(6, '0')}${SUFFIX}`);
}

/**
 * Append-only byte log over numbered files with one write buffer. Producers fill `buffer` from `fill` on and call
 * `advance`: file contents are read directly into the write buffer. Nothing is durable before `sync`; `rewind` reverts
 * everything after a mark.
 */
export class SegmentLog {
  readonly buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  readonly #dir: string;
  readonly #fs: SegmentFs;
  readonly #readFds = new Map<number, number>();
  readonly #dirty = new Set<number>();
  #segment: number;
  #fd = -1;
  #flushed = 0;
  #fill = 0;
  #room = Number.POSITIVE_INFINITY;

  /** Opens at `end`; a missing segment is created by the first write. */
  constructor(dir: string, end: LogEnd, faults: SegmentFs = fs) {
    this.#dir = dir;
    this.#fs = faults;
    this.#segment = end.segment;
    this.#flushed = end.offset;
  }

  get fill(): number {
    return this.#fill;
  }

  end(): LogEnd {
    return { segment: this.#segment, offset: this.#flushed + this.#fill };
  }

  /** Lets the log grow by this much; then it fails as a full disk does. Rewinding gives nothing back. */
  allow(bytes: number): void {
    this.#room = bytes;
  }

  advance(bytes: number): void {
    this.#fill += bytes;
  }

  /** Makes room for `bytes` in the buffer, at a record's start; rolls to a new segment when this one is full. */
  reserve(bytes: number): void {
    if (this.#flushed + this.#fill >= SEGMENT_BYTES) this.roll();
    if (this.#fill + bytes > BUFFER_BYTES) this.flush();
  }

  flush(): void {
    if (this.#fill === 0) return;
    const bytes = this.#fill;
    this.#fill = 0;
    this.appendDirect(this.buffer, bytes);
  }

  /** Writes past the buffer, which must be empty; for contents that do not fit into it. */
  appendDirect(source: Buffer, bytes: number): void {
    this.#room -= bytes;
    if (this.#room < 0) throw Object.assign(new Error(`ENOSPC: the store has reached its limit, write`), { code: 'ENOSPC' });
    this.patch(source, bytes, this.#flushed);
    this.#flushed += bytes;
  }

  /** Like {@link appendDirect} for zeros: they take no space on the disk, and do not count against the log's allowance. */
  appendHole(bytes: number): void {
    this.#flushed += bytes;
    fs.ftruncateSync(this.#writeFd(), this.#flushed);
  }

  /** Overwrites bytes of the segment that is being written. */
  patch(source: Buffer, bytes: number, offset: number): void {
    const fd = this.#writeFd();
    for (let done = 0; done < bytes;) done += this.#fs.writeSync(fd, source, done, bytes - done, offset + done);
  }

  /** Forgets everything after `mark`, on disk too. */
  rewind(mark: LogEnd): void {
    this.#fill = 0;
    for (let segment = this.#segment; segment > mark.segment; segment--) {
      this.#closeWriter();
      this.#closeReader(segment);
      this.#dirty.delete(segment);
      fs.rmSync(segmentPath(this.#dir, segment), { force: true });
      this.#segment = segment - 1;
    }
    this.#flushed = mark.offset;
    const path = segmentPath(this.#dir, mark.segment);
    if (fs.existsSync(path)) fs.truncateSync(path, mark.offset);
  }

  /** Makes all that was appended durable. Runs off the event loop. */
  async sync(): Promise<void> {
    this.flush();
    if (this.#dirty.size === 0) return;
    const fdatasync = promisify(this.#fs.fdatasync);
    for (const segment of this.#dirty) {
      const fd = fs.openSync(segmentPath(this.#dir, segment), 'r');
      try {
        await fdatasync(fd);
      } finally {
        fs.closeSync(fd);
      }
    }
    syncDirectory(this.#dir);
    this.#dirty.clear();
  }

  /** Fills `target` from a segment; returns the bytes read, fewer at its end or when it is missing. */
  read(segment: number, offset: number, target: Buffer): number {
    // Flushes only on demand: a failing flush here would lose another object's pending write.
    if (segment === this.#segment && offset + target.length > this.#flushed) this.flush();
    const fd = this.#readFd(segment);
    let done = 0;
    while (done < target.length) {
      const count = fs.readSync(fd, target, done, target.length - done, offset + done);
      if (count === 0) break;
      done += count;
    }
    return done;
  }

  close(): void {
    this.#closeWriter();
    for (const segment of this.#readFds.keys()) this.#closeReader(segment);
  }

  /** Goes on in a fresh segment. */
  roll(): void {
    this.flush();
    this.#closeWriter();
    this.#segment++;
    this.#flushed = 0;
  }

  /** Closes a segment that is about to be removed; it is not the one being written. */
  forget(segment: number): void {
    this.#closeReader(segment);
    this.#dirty.delete(segment);
  }

  #writeFd(): number {
    if (this.#fd === -1) {
      const flags = fs.constants.O_WRONLY | fs.constants.O_CREAT;
      this.#fd = fs.openSync(segmentPath(this.#dir, this.#segment), flags, 0o600);
    }
    this.#dirty.add(this.#segment);
    return this.#fd;
  }

  #readFd(segment: number): number {
    const known = this.#readFds.get(segment);
    if (known !== undefined) return known;
    const oldest = this.#readFds.keys().next();
    if (this.#readFds.size >= MAX_READ_FDS && !oldest.done) this.#closeReader(oldest.value);
    const fd = fs.openSync(segmentPath(this.#dir, segment), 'r');
    this.#readFds.set(segment, fd);
    return fd;
  }

  #closeReader(segment: number): void {
    const fd = this.#readFds.get(segment);
    if (fd === undefined) return;
    this.#readFds.delete(segment);
    fs.closeSync(fd);
  }

  #closeWriter(): void {
    if (this.#fd !== -1) fs.closeSync(this.#fd);
    this.#fd = -1;
  }
}

/**
 * Header of one object in a segment: magic (4), length (8, big-endian), SHA-256 of the payload
 * (32), CRC-32 of the bytes before it (4); the payload follows. The payload needs no checksum of
 * its own: its hash is its name.
 */
export const HEADER_BYTES = 48;

const MAGIC = 0x41_46_4f_31; // "AFO1"
const CRC_AT = 44;

interface RecordHeader {
  /** 32 chars, one per byte. */
  readonly hash: string;
  /** Payload bytes. */
  readonly length: number;
}

export function writeHeader(target: Buffer, at: number, { hash, length }: RecordHeader): void {
  target.writeUInt32BE(MAGIC, at);
  target.writeUInt16BE(0, at + 4);
  target.writeUIntBE(length, at + 6, 6);
  target.write(hash, at + 12, 32, 'latin1');
  target.writeUInt32BE(crc32(target.subarray(at, at + CRC_AT)), at + CRC_AT);
}

/** The header at `at`, or null when those bytes are no header. */
export function readHeader(source: Buffer, at: number): RecordHeader | null {
  if (source.length < at + HEADER_BYTES || source.readUInt32BE(at) !== MAGIC) return null;
  if (source.readUInt32BE(at + CRC_AT) !== crc32(source.subarray(at, at + CRC_AT))) return null;
  return { length: source.readUIntBE(at + 6, 6), hash: source.toString('latin1', at + 12, at + CRC_AT) };
}

/**
 * Position of each object: raw hash → `offset × 65536 + segment`, one number instead of an object per entry (4 TiB of
 * segments, 128 GiB in one). The length is in the record's header.
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
 * Rebuilds the index. `end` is the log's end at the newest snapshot: nothing after it belongs to a snapshot, so an
 * unfinished take, torn or whole, is cut off. `'unknown'` (the newest snapshot's file is damaged) cuts nothing. Returns
 * where the log continues: in a fresh segment when the last one is damaged or shorter than it should be.
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

/**
 * The log's end after a collection. A snapshot's own record of the end cannot hold it: the records that a collection
 * has moved come later. Absent before the first collection; `unknown` when the file is damaged.
 */
export function readLogEnd(path: string): LogEnd | 'unknown' | null {
  const text = readStored(path);
  if (text === null) return null;
  try {
    const { segment, offset } = JSON.parse(text) as Partial<LogEnd>;
    return Number.isSafeInteger(segment) && Number.isSafeInteger(offset) ? { segment: segment ?? 0, offset: offset ?? 0 } : 'unknown';
  } catch (error) {
    if (error instanceof SyntaxError) return 'unknown';
    throw error;
  }
}

/** Commits an end durably. Everything before it must be durable already. */
export function writeLogEnd(path: string, end: LogEnd): void {
  replaceStored(path, (fd) => fs.writeFileSync(fd, JSON.stringify(end)));
}

/** The later of two ends; `unknown` when either is. */
export function laterEnd(a: LogEnd | 'unknown', b: LogEnd | 'unknown' | null): LogEnd | 'unknown' {
  if (b === null) return a;
  if (a === 'unknown' || b === 'unknown') return 'unknown';
  return b.segment > a.segment || (b.segment === a.segment && b.offset > a.offset) ? b : a;
}

/** The error for an object that cannot be used; `what` completes the sentence. */
export function corrupt(hash: string, what: string): SnapshotError {
  return new SnapshotError('AF_SNAPSHOT_OBJECT_CORRUPT', `object ${hexOf(hash)} ${what}`);
}
