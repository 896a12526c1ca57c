import fs from 'node:fs';
import { createHash, hash as hashOnce } from 'node:crypto';
import {
  HEADER_BYTES,
  type LogEnd,
  type ObjectIndex,
  type SegmentFs,
  SegmentLog,
  corrupt,
  openIndex,
  packLocation,
  readHeader,
  unpackLocation,
  writeHeader,
} from './segmentLog.ts';
import { isZero } from './stored.ts';
import type { Slices } from '../base/slices.ts';
import { Compactor, type LiveObjects, type Reclaimed } from './compactor.ts';

/** A content that comes in parts. Its header is written last: a torn one has none. */
export interface Incoming {
  append(part: Buffer): void;
  /** @throws AF_SNAPSHOT_OBJECT_CORRUPT when its hash is not the expected one; the log is then unchanged */
  finish(expected?: string): Content;
}

/** Contents up to this many bytes pass through the log's buffer in one piece. */
const SMALL_BYTES = 512 * 1024;

export interface Content {
  /** Raw SHA-256, 32 chars. */
  readonly hash: string;
  readonly size: number;
}

export interface Added {
  readonly objects: number;
  readonly bytes: number;
  readonly end: LogEnd;
}

/**
 * Content-addressed store over a {@link SegmentLog}: every content once, addressed by its SHA-256 and verified by it at
 * every read. Additions since the last `keep` can be reverted by `abort`. One owner per directory.
 */
export class ObjectStore {
  readonly #index: ObjectIndex = new Map();
  readonly #log: SegmentLog;
  readonly #dir: string;
  #mark: LogEnd;
  #added: string[] = [];
  #addedBytes = 0;

  /** `end`: where the newest snapshot left the log; see `openIndex`. */
  constructor(dir: string, end: LogEnd | 'unknown', faults?: SegmentFs) {
    this.#dir = dir;
    this.#mark = openIndex(dir, end, this.#index);
    this.#log = new SegmentLog(dir, this.#mark, faults);
  }

  has(hash: string): boolean {
    return this.#index.has(hash);
  }

  /** A damaged object: its content is stored again when it is seen again. */
  forget(hash: string): void {
    this.#index.delete(hash);
  }

  /** True when a file of this size goes through {@link small}. */
  isSmall(size: number): boolean {
    return size <= SMALL_BYTES;
  }

  /**
   * Reads an open file of at most `size` bytes into the log's buffer and hashes it there; `keep`
   * leaves it in the log unless the store has it. Null when the file is longer than `size`.
   */
  small(fd: number, size: number, keep: boolean): Content | null {
    const log = this.#log;
    log.reserve(HEADER_BYTES + size + 1);
    const start = log.fill + HEADER_BYTES;
    let length = 0;
    while (length <= size) {
      const count = fs.readSync(fd, log.buffer, start + length, size + 1 - length, null);
      length += count;
      // One byte more than expected was requested: a regular file that returned less has ended.
      if (count === 0 || length === size) break;
    }
    if (length > size) return null;
    const hash = hashOnce('sha256', log.buffer.subarray(start, start + length), 'binary');
    if (keep && !this.#index.has(hash)) {
      const { segment, offset } = log.end();
      writeHeader(log.buffer, log.fill, { hash, length });
      log.advance(HEADER_BYTES + length);
      this.#remember(hash, segment, offset, length);
    }
    return { hash, size: length };
  }

  /** Like {@link small} for any size, in pieces. */
  async large(fd: number, keep: boolean, slices: Slices): Promise<Content> {
    const incoming = this.incoming(keep);
    const { buffer } = this.#log;
    for (let size = 0; ;) {
      const count = fs.readSync(fd, buffer, 0, buffer.length, size);
      if (count === 0) return incoming.finish();
      incoming.append(buffer.subarray(0, count));
      size += count;
      if (slices.due()) await slices.pause();
    }
  }

  /** Begins a content at the end of the log. Nothing else may be added before it is finished or dropped; without `keep` it is only hashed. */
  incoming(keep = true): Incoming {
    const log = this.#log;
    log.flush();
    log.reserve(0);
    const start = log.end();
    const sha = createHash('sha256');
    let size = 0;
    if (keep) log.appendDirect(Buffer.alloc(HEADER_BYTES), HEADER_BYTES);
    const append = (part: Buffer): void => {
      size += part.length;
      sha.update(part);
      if (keep && isZero(part)) log.appendHole(part.length);
      else if (keep) log.appendDirect(part, part.length);
    };
    const finish = (expected?: string): Content => {
      const hash = sha.digest('binary');
      const damaged = expected !== undefined && expected !== hash;
      if (keep && (damaged || this.#index.has(hash))) log.rewind(start);
      else if (keep) {
        const header = Buffer.alloc(HEADER_BYTES);
        writeHeader(header, 0, { hash, length: size });
        log.patch(header, HEADER_BYTES, start.offset);
        this.#remember(hash, start.segment, start.offset, size);
      }
      if (damaged) throw corrupt(expected, 'arrived damaged');
      return { hash, size };
    };
    return { append, finish };
  }

  /** Part of a content, not verified. @throws AF_SNAPSHOT_OBJECT_CORRUPT when it is not there */
  range(hash: string, offset: number, bytes: number): Buffer {
    const location = this.#index.get(hash);
    if (location === undefined) throw corrupt(hash, 'is not in the store');
    const start = unpackLocation(location);
    const part = Buffer.allocUnsafe(bytes);
    const count = this.#log.read(start.segment, start.offset + HEADER_BYTES + offset, part);
    if (count < bytes) throw corrupt(hash, 'is cut short');
    return part;
  }

  /** Limits the bytes that may still be added; more fails as on a full disk. */
  allow(bytes: number): void {
    this.#log.allow(bytes);
  }

  /** Makes everything durable and returns the additions since the last {@link keep}. After a failure call {@link abort}. */
  async sync(): Promise<Added> {
    await this.#log.sync();
    return { objects: this.#added.length, bytes: this.#addedBytes, end: this.#log.end() };
  }

  /** The objects so far belong to a snapshot now; {@link abort} will not touch them. */
  keep(): void {
    this.#begin(this.#log.end());
  }

  /** Takes back the objects since the last {@link keep}, on disk too. */
  abort(): void {
    for (const hash of this.#added) this.#index.delete(hash);
    this.#log.rewind(this.#mark);
    this.#begin(this.#mark);
  }

  /**
   * Frees objects that `live` does not name, while nothing is added; `share`: see {@link Compactor}. `commit` makes the
   * log's end durable.
   */
  async collect(live: LiveObjects, share: number, commit: (end: LogEnd) => void, slices: Slices, signal?: AbortSignal): Promise<Reclaimed> {
    this.#log.allow(Number.POSITIVE_INFINITY);
    try {
      return await new Compactor({ dir: this.#dir, index: this.#index, log: this.#log, commit }).run(live, share, slices, signal);
    } finally {
      this.#begin(this.#log.end());
    }
  }

  /**
   * Yields the verified content in pieces of at most 1 MiB; a piece is only valid until the next is requested.
   * AF_SNAPSHOT_OBJECT_CORRUPT when it is missing, short or its hash does not match; pieces yielded before that must
   * not be trusted.
   */
  *chunks(hash: string): Generator<Buffer, void> {
    const location = this.#index.get(hash);
    if (location === undefined) throw corrupt(hash, 'is not in the store');
    const header = Buffer.allocUnsafe(HEADER_BYTES);
    const start = unpackLocation(location);
    const record = this.#log.read(start.segment, start.offset, header) === HEADER_BYTES ? readHeader(header, 0) : null;
    if (record === null || record.hash !== hash) throw corrupt(hash, 'has a damaged header');
    const sha = createHash('sha256');
    const piece = Buffer.allocUnsafeSlow(Math.min(record.length, SMALL_BYTES * 2));
    for (let at = 0; at < record.length;) {
      const part = piece.subarray(0, Math.min(piece.length, record.length - at));
      // Asked again for each piece: a collection may have moved the record while the reader took its time.
      const now = this.#index.get(hash);
      if (now === undefined) throw corrupt(hash, 'is not in the store any more');
      const { segment, offset } = unpackLocation(now);
      if (this.#log.read(segment, offset + HEADER_BYTES + at, part) < part.length) throw corrupt(hash, 'is cut short');
      sha.update(part);
      at += part.length;
      // The last piece is handed out only when the whole is known to be right.
      if (at === record.length && sha.digest('binary') !== hash) throw corrupt(hash, 'does not match its hash');
      yield part;
    }
  }

  close(): void {
    this.#log.close();
  }

  #remember(hash: string, segment: number, offset: number, bytes: number): void {
    this.#index.set(hash, packLocation(segment, offset));
    this.#added.push(hash);
    this.#addedBytes += bytes;
  }

  #begin(mark: LogEnd): void {
    this.#mark = mark;
    this.#added = [];
    this.#addedBytes = 0;
  }
}
