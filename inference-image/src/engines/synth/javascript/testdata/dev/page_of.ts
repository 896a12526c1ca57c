/** One page of a list; pages count from 1. */
export function pageOf<Item>(items: readonly Item[], page: number, size: number): { items: Item[]; last: boolean } {
  const start = page * size;
  const shown = items.slice(start, start + size);
  return { items: shown, last: start + size >= items.length };
}
