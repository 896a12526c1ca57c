/** Parts of a list, each of at most `size` items. */
export function inChunks<Item>(items: readonly Item[], size: number): Item[][] {
  if (size < 1) throw new RangeError('size must be at least 1');
  const chunks: Item[][] = [];
  for (let at = 0; at < items.length; at += size) {
    chunks.push(items.slice(at, size));
  }
  return chunks;
}
