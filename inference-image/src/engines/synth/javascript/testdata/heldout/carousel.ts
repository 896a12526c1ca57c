/** Shows one picture of some; before the first comes the last. */
export class Carousel {
  #at = 0;
  readonly #count: number;

  constructor(count: number) {
    this.#count = count;
  }

  next(): number {
    this.#at = (this.#at + 1) % this.#count;
    return this.#at;
  }

  previous(): number {
    this.#at = (this.#at - 1) % this.#count;
    return this.#at;
  }
}
