/** A piece of the vocabulary and its natural log probability; its index is its id. */
export type Piece = readonly [text: string, logProbability: number];

/** Ids below are not text: unknown, begin, end, and three without a use. */
const reserved = 6;
const unknown = 0;
const space = '\u2581';

/**
 * Splits text into the likeliest pieces of a unigram vocabulary (Kudo, arXiv:1804.10959) by dynamic programming. What the
 * vocabulary lacks becomes one `unknown`, however long it is.
 */
export class Tokenizer {
  readonly #ids = new Map<string, number>();
  readonly #scores: readonly number[];
  readonly #longest: number;
  readonly #unknownScore: number;

  constructor(pieces: readonly Piece[]) {
    this.#scores = pieces.map(([, score]) => score);
    let longest = 1;
    for (const [id, [text]] of pieces.entries()) {
      if (id < reserved) continue;
      this.#ids.set(text, id);
      longest = Math.max(longest, text.length);
    }
    this.#longest = longest;
    // Dearer than any piece, so that it is taken only where none fits.
    this.#unknownScore = this.#scores.reduce((least, score) => Math.min(least, score), 0) - 10;
  }

  /** Ids of the pieces of a text; at least one. */
  encode(text: string): readonly number[] {
    const symbols = space + text.normalize('NFKC').trim().replaceAll(/\s+/g, space);
    const best = new Float64Array(symbols.length + 1).fill(-Infinity);
    const from = new Int32Array(symbols.length + 1);
    const ids = new Int32Array(symbols.length + 1);
    best[0] = 0;
    for (let start = 0; start < symbols.length; start += 1) {
      const before = best[start] as number;
      const reach = (end: number, id: number, score: number): void => {
        if (before + score <= (best[end] as number)) return;
        best[end] = before + score;
        from[end] = start;
        ids[end] = id;
      };
      reach(start + 1, unknown, this.#unknownScore);
      for (let end = start + 1; end <= Math.min(symbols.length, start + this.#longest); end += 1) {
        const id = this.#ids.get(symbols.slice(start, end));
        if (id !== undefined) reach(end, id, this.#scores[id] as number);
      }
    }
    return traced(symbols.length, from, ids);
  }
}

function traced(length: number, from: Int32Array, ids: Int32Array): readonly number[] {
  const found: number[] = [];
  for (let end = length; end > 0; end = from[end] as number) {
    const id = ids[end] as number;
    if (id !== unknown || found.at(-1) !== unknown) found.push(id);
  }
  return found.reverse();
}
