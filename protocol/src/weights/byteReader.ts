// protocol, weights: bounded reader of little-endian values in file headers. Imports nothing of other folders.
import { ModelFileError } from './report.ts';

/** Reads little-endian values one after the other; a value beyond the end is an error that names it. */
export class ByteReader {
  readonly #view: DataView;
  readonly #bytes: Uint8Array;
  readonly #file: string;
  #position = 0;

  constructor(bytes: Uint8Array, file: string) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#bytes = bytes;
    this.#file = file;
  }

  /** Moves on by so many bytes; returns where they begin. */
  advance(length: number): number {
    const start = this.#position;
    if (length < 0 || start + length > this.#bytes.byteLength)
      throw new ModelFileError(this.#file, 'header', `is cut after ${this.#bytes.byteLength} bytes`);
    this.#position += length;
    return start;
  }

  uint64(): bigint {
    return this.#view.getBigUint64(this.advance(8), true);
  }

  /** A 64 bit number that counts something, and is refused above `max` before anything is done with it. */
  count(field: string, max: number): number {
    const value = this.uint64();
    if (value > BigInt(max)) throw new ModelFileError(this.#file, field, `is ${value}, and may be ${max} at most`);
    return Number(value);
  }

  text(length: number): string {
    const start = this.advance(length);
    return new TextDecoder().decode(this.#bytes.subarray(start, start + length));
  }

  string(): string {
    return this.text(this.count('string', 1 << 20));
  }
}
