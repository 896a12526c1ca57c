/**
 * Where a sequence occurs in another, overlapping ones too, at most `most` of them. Knuth, Morris and Pratt (1977): the
 * time grows with the sum of the lengths whatever they hold, so that no file and no text can make an edit slow.
 */
export function occurrences<T>(within: ArrayLike<T>, of: ArrayLike<T>, most: number, from = 0): readonly number[] {
  const found: number[] = [];
  const borders = bordersOf(of);
  for (let at = from, matched = 0; at < within.length && found.length < most; at++) {
    while (matched > 0 && within[at] !== of[matched]) matched = borders[matched - 1] ?? 0;
    if (within[at] === of[matched]) matched += 1;
    if (matched !== of.length) continue;
    found.push(at + 1 - matched);
    matched = borders[matched - 1] ?? 0;
  }
  return found;
}

/** For each prefix the length of the longest proper prefix that also ends it. */
function bordersOf<T>(of: ArrayLike<T>): Uint32Array {
  const borders = new Uint32Array(of.length);
  for (let at = 1, length = 0; at < of.length; at++) {
    while (length > 0 && of[at] !== of[length]) length = borders[length - 1] ?? 0;
    if (of[at] === of[length]) length += 1;
    borders[at] = length;
  }
  return borders;
}
