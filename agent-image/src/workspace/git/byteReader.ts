/** Reads records and counted bytes from a stream of chunks. */
export class ByteReader {
  readonly #source: AsyncIterator<Buffer, undefined>;
  readonly #separator: number;
  #rest: Buffer = Buffer.alloc(0);

  /** `separator` ends a record: 10 (newline) or 0. */
  constructor(source: AsyncIterable<Buffer>, separator = 10) {
    this.#source = source[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
    this.#separator = separator;
  }

  /** The next record without its separator; null at the end. @throws when the stream ends inside one, or it is over 64 KiB */
  async record(): Promise<Buffer | null> {
    let searched = 0;
    for (;;) {
      const at = this.#rest.indexOf(this.#separator, searched);
      if (at !== -1) {
        const record = this.#rest.subarray(0, at);
        this.#rest = this.#rest.subarray(at + 1);
        return record;
      }
      searched = this.#rest.length;
      if (searched > 65_536) throw new Error('git gives a record of over 64 KiB');
      const next = await this.#source.next();
      if (next.done === true) {
        if (searched > 0) throw new Error('the output of git ends in the middle of a record');
        return null;
      }
      this.#rest = searched === 0 ? next.value : Buffer.concat([this.#rest, next.value]);
    }
  }

  async line(): Promise<string | null> {
    return (await this.record())?.toString('utf8') ?? null;
  }

  /** The next `size` bytes. @throws when the stream ends before */
  async *bytes(size: number): AsyncGenerator<Buffer> {
    let missing = size;
    while (missing > 0) {
      if (this.#rest.length === 0) {
        const next = await this.#source.next();
        if (next.done === true) throw new Error('the output of git ends in the middle of an object');
        this.#rest = next.value;
        continue;
      }
      const part = this.#rest.subarray(0, missing);
      this.#rest = this.#rest.subarray(part.length);
      missing -= part.length;
      yield part;
    }
  }
}
