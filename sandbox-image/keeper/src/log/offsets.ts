const stride = 256;

/** Where every 256th record starts, so that reading from the middle does not scan the whole log. */
export class OffsetIndex {
  readonly #offsets: number[] = [];

  /** To be told of every record once, in order; `seq` counts from 1. */
  add(seq: number, offset: number): void {
    if ((seq - 1) % stride === 0) this.#offsets[(seq - 1) / stride] = offset;
  }

  /** The closest known start at or before record `seq`. */
  before(seq: number): number {
    const slot = Math.min(Math.floor((Math.max(seq, 1) - 1) / stride), this.#offsets.length - 1);
    return this.#offsets[slot] ?? 0;
  }
}
