/** How alike two texts are, so that the halves of a pack share no template. */

/** Case, numbers and white space do not count. */
export function normalise(text: string): string {
  return text.toLowerCase().replaceAll(/\d+/g, '0').replaceAll(/\s+/g, ' ').trim();
}

/** The set of all runs of four characters of a normalised text. */
export function shingles(text: string): ReadonlySet<string> {
  const plain = normalise(text);
  const runs = new Set<string>();
  for (let at = 0; at <= Math.max(0, plain.length - 4); at += 1) runs.add(plain.slice(at, at + 4));
  return runs;
}

/** Jaccard index of two sets, 0 … 1. */
export function likeness(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let shared = 0;
  for (const run of one) if (other.has(run)) shared += 1;
  return shared / (one.size + other.size - shared);
}

/** The most alike pair between two lists of texts. */
export function closest(ones: readonly string[], others: readonly string[]): { likeness: number; one: string; other: string } {
  let best = { likeness: 0, one: '', other: '' };
  const sets = others.map((text) => shingles(text));
  for (const one of ones) {
    const set = shingles(one);
    for (const [index, other] of others.entries()) {
      const value = likeness(set, sets[index] ?? new Set());
      if (value > best.likeness) best = { likeness: value, one, other };
    }
  }
  return best;
}
