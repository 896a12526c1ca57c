// protocol, text: overlapping parts of long text. Imports nothing of other folders.

/**
 * Returns parts that hold all of a text, as few as do: the text itself where it has at most `size` UTF-16 units, else parts of
 * that size of which neighbours share at least `overlap`, so that a piece that is no longer than that is whole in one of them.
 * `size` must be larger than `overlap`. Pure.
 *
 * @example
 * windowsOf('01234567', 5, 2) // ['01234', '34567']
 */
export function windowsOf(text: string, size: number, overlap: number): readonly string[] {
  if (text.length <= size) return [text];
  const last = Math.ceil((text.length - size) / (size - overlap));
  return Array.from({ length: last + 1 }, (_, at) => {
    const from = Math.floor((at * (text.length - size)) / last);
    return text.slice(from, from + size);
  });
}
