/** Values that are remembered at a time; when there are more, all are forgotten, which costs memory only. */
const mostShared = 4096;

/**
 * Gives equal values as one and the same: thousands of tasks have the same defaults and conditions, and a parsed object
 * is ten times as large as its text. What is shared must never be changed, as nothing in a cache is.
 */
export class Shared {
  readonly #values = new Map<string, unknown>();

  of<T>(value: T): T {
    if (value === undefined || value === null || typeof value === 'number' || typeof value === 'boolean') return value;
    const text = JSON.stringify(value);
    const known = this.#values.get(text);
    if (known !== undefined) return known as T;
    if (this.#values.size >= mostShared) this.#values.clear();
    this.#values.set(text, value);
    return value;
  }
}
