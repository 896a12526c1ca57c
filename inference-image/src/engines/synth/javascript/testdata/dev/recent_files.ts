/** The files that were opened last, the newest first, each once. */
export class RecentFiles {
  #files: string[] = [];
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  open(path: string): void {
    this.#files = this.#files.filter((known) => known !== path);
    this.#files.unshift(path);
    if (this.#files.length >= this.#limit) {
      this.#files.pop();
    }
  }

  list(): readonly string[] {
    return this.#files;
  }
}
