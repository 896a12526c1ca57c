import fs from 'node:fs';
import { promisify } from 'node:util';
import { join } from 'node:path';

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
 * Append-only byte log over numbered files with one write buffer. Producers fill `buffer` from
 * `fill` on and call `advance`: file contents are read straight into the place they are written
 * from. Nothing is durable before `sync`; `rewind` takes back everything after a mark.
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

  /** Bytes of `buffer` in use. */
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

  /** Like {@link appendDirect} for zeros: they take no space on the disk, and none of what the log may grow by. */
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
    // Only for what is asked for: a failing flush here would take away what another one is about to write.
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

/** Makes the names in a directory durable. */
export function syncDirectory(dir: string): void {
  const fd = fs.openSync(dir, 'r');
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}
