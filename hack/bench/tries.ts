/** Place of the first right one in an order, from 1; undefined when there is none. */
export function triesIn(order: readonly boolean[]): number | undefined {
  const at = order.indexOf(true);
  return at === -1 ? undefined : at + 1;
}

/** The same for an order by chance: the mean over all orders, (n + 1) ⁄ (right + 1). */
export function triesByChance(order: readonly boolean[]): number | undefined {
  const right = order.filter(Boolean).length;
  return right === 0 ? undefined : (order.length + 1) / (right + 1);
}

/** Orders each run of `size` by itself, as a worker does that compares no more at once. */
export function inRounds<T>(all: readonly T[], size: number, order: (some: readonly T[]) => readonly T[]): readonly T[] {
  return all.flatMap((_, at) => (at % size === 0 ? order(all.slice(at, at + size)) : []));
}
