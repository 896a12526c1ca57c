/** The lines of a diff, with their numbers from 1. */
export class DiffLines {
  readonly #lines: readonly string[];
  #at = 0;

  constructor(diff: string) {
    const lines = diff.split('\n');
    if (lines.at(-1) === '') lines.pop();
    this.#lines = lines;
  }

  /** Number of the next line. */
  get number(): number {
    return this.#at + 1;
  }

  /** The next line; null at the end. */
  peek(): string | null {
    return this.#lines[this.#at] ?? null;
  }

  /** Takes the next line; empty at the end. */
  take(): string {
    const line = this.#lines[this.#at] ?? '';
    this.#at += 1;
    return line;
  }
}
