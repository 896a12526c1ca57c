import fs from 'node:fs';
import { isFull } from '../base/errors.ts';
import type { Slices } from '../base/slices.ts';
import { isZero, syncDirectory } from './stored.ts';
import {
  HEADER_BYTES,
  type LogEnd,
  type ObjectIndex,
  type SegmentLog,
  listSegments,
  packLocation,
  readHeader,
  segmentPath,
  unpackLocation,
} from './segmentLog.ts';

/** Raw hashes of the contents that must stay, with their sizes. */
export type LiveObjects = ReadonlyMap<string, number>;

/** Unit of a stat's blocks. */
const STAT_BLOCK = 512;

interface CompactorOptions {
  readonly dir: string;
  readonly index: ObjectIndex;
  readonly log: SegmentLog;
  /** Makes the log's end durable, before the segments it replaces are removed. */
  readonly commit: (end: LogEnd) => void;
}

export interface Reclaimed {
  /** On the disk: the holes of a segment were never taken from it. */
  readonly freedBytes: number;
  readonly freedObjects: number;
}

interface Usage {
  readonly segment: number;
  readonly bytes: number;
  liveBytes: number;
  readonly live: { readonly hash: string; readonly offset: number }[];
}

/**
 * Frees segments without live records, and rewrites those with few: their live records are appended to the log, made
 * durable, the new end is committed, and only then the old segment is removed. After a kill at any instant every live
 * record is intact in at least one place. Damaged records are not moved: their segment stays.
 */
export class Compactor {
  readonly #options: CompactorOptions;
  #freedObjects = 0;

  constructor(options: CompactorOptions) {
    this.#options = options;
  }

  /** Rewrites segments of which at most `share` is live. An abort or a full volume ends it early and leaves all whole. */
  async run(live: LiveObjects, share: number, slices: Slices, signal?: AbortSignal): Promise<Reclaimed> {
    const usages = this.#measure(live);
    const goes = usages.filter(({ liveBytes, bytes }) => liveBytes <= bytes * share && liveBytes < bytes);
    const { log } = this.#options;
    const before = this.#diskBytes();
    if (goes.some(({ segment }) => segment === log.end().segment)) log.roll();
    const empty = goes.filter((usage) => usage.live.length === 0);
    if (empty.length > 0) await this.#drop(empty);
    for (const usage of goes.filter((one) => one.live.length > 0).sort((a, b) => a.liveBytes - b.liveBytes)) {
      if (signal?.aborted === true || !(await this.#rewrite(usage, slices))) break;
    }
    return { freedBytes: before - this.#diskBytes(), freedObjects: this.#freedObjects };
  }

  #diskBytes(): number {
    const { dir } = this.#options;
    return listSegments(dir).reduce((sum, segment) => sum + fs.statSync(segmentPath(dir, segment)).blocks * STAT_BLOCK, 0);
  }

  #measure(live: LiveObjects): Usage[] {
    const { dir, index, log } = this.#options;
    log.flush();
    const usages = new Map<number, Usage>();
    for (const segment of listSegments(dir)) {
      usages.set(segment, { segment, bytes: fs.statSync(segmentPath(dir, segment)).size, liveBytes: 0, live: [] });
    }
    for (const [hash, size] of live) {
      const location = index.get(hash);
      if (location === undefined) continue;
      const { segment, offset } = unpackLocation(location);
      const usage = usages.get(segment);
      if (usage === undefined) continue;
      usage.liveBytes += HEADER_BYTES + size;
      usage.live.push({ hash, offset });
    }
    return [...usages.values()];
  }

  /** False when the rewriting cannot go on. */
  async #rewrite(usage: Usage, slices: Slices): Promise<boolean> {
    const { index, log } = this.#options;
    const mark = log.end();
    try {
      const moved = new Map<string, number>();
      for (const { hash, offset } of usage.live.sort((a, b) => a.offset - b.offset)) {
        const to = this.#copy(usage.segment, offset, hash);
        if (to === null) {
          log.rewind(mark);
          return true;
        }
        moved.set(hash, packLocation(to.segment, to.offset));
        if (slices.due()) await slices.pause();
      }
      await log.sync();
      for (const [hash, location] of moved) index.set(hash, location);
      await this.#drop([usage]);
      return true;
    } catch (error) {
      if (index.get(usage.live[0]?.hash ?? '') === packLocation(usage.segment, usage.live[0]?.offset ?? 0)) log.rewind(mark);
      if (isFull(error) || (error instanceof Error && error.name === 'AbortError')) return false;
      throw error;
    }
  }

  /** Appends one record again; null when it is damaged. The content is not verified here: every read checks its hash. */
  #copy(segment: number, offset: number, hash: string): LogEnd | null {
    const { log } = this.#options;
    const header = Buffer.allocUnsafe(HEADER_BYTES);
    const record = log.read(segment, offset, header) === HEADER_BYTES ? readHeader(header, 0) : null;
    if (record === null || record.hash !== hash) return null;
    log.flush();
    log.reserve(0);
    const to = log.end();
    log.appendDirect(header, HEADER_BYTES);
    for (let at = 0; at < record.length;) {
      const part = log.buffer.subarray(0, Math.min(log.buffer.length, record.length - at));
      if (log.read(segment, offset + HEADER_BYTES + at, part) < part.length) return null;
      if (isZero(part)) log.appendHole(part.length);
      else log.appendDirect(part, part.length);
      at += part.length;
    }
    return to;
  }

  /** Removes segments whose live records are elsewhere by now. */
  async #drop(usages: readonly Usage[]): Promise<void> {
    const { dir, index, log, commit } = this.#options;
    await log.sync();
    commit(log.end());
    const gone = new Set(usages.map(({ segment }) => segment));
    for (const [hash, location] of index) {
      if (!gone.has(unpackLocation(location).segment)) continue;
      index.delete(hash);
      this.#freedObjects++;
    }
    for (const { segment } of usages) {
      log.forget(segment);
      fs.unlinkSync(segmentPath(dir, segment));
    }
    syncDirectory(dir);
  }
}
