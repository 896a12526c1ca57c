/** The beginning and the end of a text that comes in pieces; what is between is counted. */
export class Clip {
  readonly #half: number;
  #head = '';
  #tail = '';
  #length = 0;

  constructor(chars: number) {
    this.#half = Math.floor(chars / 2);
  }

  push(text: string): void {
    this.#length += text.length;
    const room = this.#half - this.#head.length;
    this.#head += text.slice(0, room);
    if (text.length > room) this.#tail = (this.#tail + text.slice(Math.max(room, text.length - this.#half))).slice(-this.#half);
  }

  /** @param decode what makes the kept characters readable */
  text(decode: (kept: string) => string): string {
    const left = this.#length - this.#head.length - this.#tail.length;
    const gap = left === 0 ? '' : `\n[… ${left} bytes left out …]\n`;
    return left === 0 ? decode(this.#head + this.#tail) : `${decode(this.#head)}${gap}${decode(this.#tail)}`;
  }
}
