import { KubeError } from '../runtime/errors.ts';

const newline = 0x0a;

/** An API object is at most 1.5 MiB in etcd and 3 MiB on the wire; a longer line is not one. */
const defaultLongestLine = 16 * 1024 * 1024;

/** Cuts a byte stream into lines, whatever its chunks are. Lines of whole chunks are not copied. */
export class LineSplitter {
  readonly #longest: number;
  #pieces: Uint8Array[] = [];
  #held = 0;

  constructor(longest: number = defaultLongestLine) {
    this.#longest = longest;
  }

  /** Calls `line` for every line that this chunk completes; empty lines are skipped. */
  push(chunk: Uint8Array, line: (text: string) => void): void {
    let from = 0;
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
      const text = this.#complete(chunk.subarray(from, at));
      from = at + 1;
      if (text !== '') line(text);
    }
    if (from < chunk.length) this.#hold(chunk.subarray(from));
  }

  /** Bytes that belong to a line without end; at the end of a stream they are a torn event. */
  get pending(): number {
    return this.#held;
  }

  #hold(piece: Uint8Array): void {
    this.#held += piece.length;
    if (this.#held > this.#longest) {
      const what = `a line of more than ${this.#longest} bytes`;
      throw new KubeError('AF_API_MALFORMED', { what, where: 'watch stream', cure: 'Check what stands between us and the server' });
    }
    this.#pieces.push(piece);
  }

  #complete(end: Uint8Array): string {
    if (this.#pieces.length === 0) return textOf(end);
    const whole = Buffer.concat([...this.#pieces, end], this.#held + end.length);
    this.#pieces = [];
    this.#held = 0;
    return textOf(whole);
  }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8').trim();
}
