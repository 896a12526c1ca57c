import type { BytePath } from '../base/pathBytes.ts';

/** The part of `fs.Stats` that shows whether a path has changed, compared by {@link isSame}. */
export interface SeenStat {
  ino: number;
  ctimeMs: number;
  mtimeMs: number;
  size: number;
  /** Type and permissions, as stat gives them. */
  mode: number;
  nlink: number;
}

/** The record of the name at which the walk is. */
export interface ReportedStat extends SeenStat {
  /** For a folder where some names may lack a record: they are not known to be unchanged. */
  isBlind: boolean;
}

/** Depth, length of the name and whether it is blind, then six numbers; the name follows. */
const HEAD_BYTES = 54;

/**
 * Reads the records of `runner stat` in step with the scanner's walk, which has the same order. Names without a record
 * (below a folder that was closed to the runner) and records without a known name are skipped.
 */
export class StatCursor {
  /** A name without a record is as last reported. */
  readonly changesOnly: boolean;
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #reported: ReportedStat = { ino: 0, ctimeMs: 0, mtimeMs: 0, size: 0, mode: 0, nlink: 0, isBlind: false };
  #at = 0;

  constructor(bytes: Buffer, changesOnly = false) {
    this.changesOnly = changesOnly;
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Returns the record of the walk's next name, valid until the next call; null when there is none. */
  find(name: BytePath, depth: number): ReportedStat | null {
    while (this.#at + HEAD_BYTES <= this.#bytes.length) {
      const at = this.#at;
      const [recordDepth, length] = [this.#view.getUint16(at, true), this.#view.getUint16(at + 2, true)];
      if (recordDepth < depth) return null;
      const order = recordDepth > depth ? -1 : this.#compare(at + HEAD_BYTES, length, name);
      if (order > 0) return null;
      this.#at = at + HEAD_BYTES + length;
      if (order === 0) return this.#read(at + 4);
    }
    return null;
  }

  #read(at: number): ReportedStat {
    const reported = this.#reported;
    reported.isBlind = this.#view.getUint16(at, true) !== 0;
    reported.ino = this.#view.getFloat64(at + 2, true);
    reported.ctimeMs = this.#view.getFloat64(at + 10, true);
    reported.mtimeMs = this.#view.getFloat64(at + 18, true);
    reported.size = this.#view.getFloat64(at + 26, true);
    reported.mode = this.#view.getFloat64(at + 34, true);
    reported.nlink = this.#view.getFloat64(at + 42, true);
    return reported;
  }

  /** Compares bytewise: negative when the record's name comes first. */
  #compare(at: number, length: number, name: BytePath): number {
    const shared = Math.min(length, name.length);
    for (let index = 0; index < shared; index++) {
      const order = (this.#bytes[at + index] ?? 0) - name.charCodeAt(index);
      if (order !== 0) return order;
    }
    return length - name.length;
  }
}
